"""Everything Spool keeps on disk: files, locks, the journal, the store, the registry."""
