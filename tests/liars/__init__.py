"""Agents that claim to be done: liars, whose claims must be refused, and honest ones, whose claims must pass."""
