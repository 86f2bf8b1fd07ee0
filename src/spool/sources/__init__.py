"""Reads changes from `.spool/changes/`, `openspec/changes/` and plan files. Never writes."""
