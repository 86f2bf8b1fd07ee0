"""How values look in a terminal."""
