"""Commands that set up and examine."""
