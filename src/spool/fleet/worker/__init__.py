"""A host of the fleet: its worker, and the runs that it makes."""
