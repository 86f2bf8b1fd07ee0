"""`spool tui`: the machine behind the screen of `spool.tui`."""
