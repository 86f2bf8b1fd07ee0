"""Runs gates: for a loop, by hand, and for the stop hook of a session."""
