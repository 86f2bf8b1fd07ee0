"""`wt-loop`: loops in worktrees, each in its own terminal, on the same engine and registry as `spool`."""
