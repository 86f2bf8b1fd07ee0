"""All repositories of a working tree: its own, and those nested in it."""
