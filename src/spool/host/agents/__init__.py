"""Agent processes: the supervisor that starts and ends them, and their output files."""
