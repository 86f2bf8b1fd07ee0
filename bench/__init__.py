"""Benchmarks: each compares with its bare floor in the same run, and prints medians and ratios."""
