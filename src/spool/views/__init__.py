"""Formats events, loops and hints for a terminal."""
