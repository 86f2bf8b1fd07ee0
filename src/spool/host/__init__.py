"""The machine: processes, git, files, locks, the journal. Knows nothing of any front end."""
