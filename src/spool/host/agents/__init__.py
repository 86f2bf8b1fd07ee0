"""Agents as processes: the supervisor that starts and ends them, and the files they print to."""
