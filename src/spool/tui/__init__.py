"""The screen: a view of the journal's events, and nothing more."""
