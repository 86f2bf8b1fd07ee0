"""Commands on changes and plans."""
