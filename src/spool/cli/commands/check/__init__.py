"""Commands that check, land and undo work."""
