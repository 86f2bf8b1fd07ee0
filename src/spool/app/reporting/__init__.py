"""Collects what loops did: histories, diffs and pages of journals."""
