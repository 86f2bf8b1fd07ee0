"""Reads a plan file: any Markdown with a list, as the stories and tasks of a change."""
