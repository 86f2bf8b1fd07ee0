"""`wt-loop`: loops in worktrees, each in a terminal of its own, over the same engine and the same registry."""
