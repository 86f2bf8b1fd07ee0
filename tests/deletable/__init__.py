"""Parts of Spool that can be deleted: their folders, and the line that registers them."""
