"""Access to the machine: processes, git, files, locks and the journal. Independent of every front end."""
