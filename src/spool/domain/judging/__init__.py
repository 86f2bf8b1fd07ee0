"""Judging a claim: the promise, the gates, and the results of single tests."""
