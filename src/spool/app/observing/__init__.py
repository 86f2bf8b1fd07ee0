"""Observers: receivers of a run's events outside the loop."""
