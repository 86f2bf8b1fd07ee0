"""Commands that start loops."""
