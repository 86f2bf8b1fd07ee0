"""Clones in which loops work, and how their commits reach the person's repository."""
