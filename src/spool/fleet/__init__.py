"""Runs changes on many hosts: a durable queue of ordinary runs, on Temporal.

Only `connection`, `workflows`, `worker` and what they are imported by need the extra `[fleet]`; everything else here
is about snapshots, clones and the child process, and works without.
"""
