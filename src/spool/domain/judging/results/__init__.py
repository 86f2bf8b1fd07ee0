"""Results of single tests, read from what test runners write or print."""
