"""The plans: each builds the prompts and judges the iterations of one kind of loop."""
