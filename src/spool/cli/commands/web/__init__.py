"""The command that shows loops in a browser."""
