"""Lists, finds, follows and stops the loops of this machine."""
