"""Snapshots of changes that travel between hosts, and clones made from them."""
