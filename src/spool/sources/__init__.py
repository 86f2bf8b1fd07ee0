"""Reads changes from `.spool/changes/` and `openspec/changes/`. Never writes."""
