"""The headless application: build, run, launch, find, stop and observe loops."""
