"""Measures what stops a loop: seeded bugs, scripted agents that claim completion, and several loops around them."""
