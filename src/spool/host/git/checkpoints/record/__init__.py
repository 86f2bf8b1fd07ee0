"""Records a working tree as a git tree in a git directory of Spool's own."""
