"""Git: the repository, its working trees, and what changed in them."""
