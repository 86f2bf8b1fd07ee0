"""Runner processes: which one is meant, whether it lives, and how to end it."""
