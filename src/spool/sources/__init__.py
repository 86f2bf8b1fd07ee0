"""The formats of plans: finds them, reads them as changes, records what was accepted."""
