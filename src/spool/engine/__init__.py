"""The loop: gathers facts, asks for a verdict, acts on it. What it needs of the machine comes in through `ports`."""
