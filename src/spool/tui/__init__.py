"""The full-screen interface: a view of the journal's events."""
