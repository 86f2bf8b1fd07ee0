"""Where changes come from: `.spool/changes/` and `openspec/changes/`. Reading never writes."""
