"""Restores a recorded working tree, its refs and its unfinished work."""
