"""Click commands; the only package that wires the layers together."""
