"""Spool's data on disk: files, locks, the journal, the store, the registry."""
