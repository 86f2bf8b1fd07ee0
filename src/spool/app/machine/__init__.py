"""This machine and this repository: agents, set-up, trust, examination and footprint."""
