"""The loop: gathers facts, asks for a verdict and acts on it. It reaches the machine only through `ports`."""
