"""A loop: its spec and settings, its state and events, and the decisions between two iterations."""
