"""Takes finished changes to a branch, rebased and checked on the result."""
