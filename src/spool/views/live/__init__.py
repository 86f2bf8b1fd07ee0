"""Views of a run while it runs: lines, JSON, or a terminal with a footer."""
