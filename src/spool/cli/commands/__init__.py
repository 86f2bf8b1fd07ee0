"""The commands of `spool`, one module each, grouped as in its help."""
