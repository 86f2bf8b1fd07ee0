"""Takes finished branches to a target branch: rebased in a throwaway clone, moved by compare-and-swap."""
