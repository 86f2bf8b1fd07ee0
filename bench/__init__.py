"""Benchmarks: each compares with its bare floor, and with other loops, in turns within one run."""
