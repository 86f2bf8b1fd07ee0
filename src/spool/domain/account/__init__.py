"""Every figure of a loop, computed once from its events: stories, attempts, the timeline and the sums."""
