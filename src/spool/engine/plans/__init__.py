"""The plans, one per front door: what the next prompt is, and how an iteration is judged."""
