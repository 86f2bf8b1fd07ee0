"""Values and decisions. Nothing here does I/O or reads a clock."""
