"""Reads a plan file: any Markdown with a list, or with steps as headings, as the stories and tasks of a change."""
