"""Runs gates: their commands, the trees they run on, and what is remembered of them."""
