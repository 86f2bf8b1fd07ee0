"""Everything a front door needs, headless: build, run, launch, find, stop and observe loops."""
