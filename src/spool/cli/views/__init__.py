"""What a person sees of a running loop. Every view is a reader of the journal, and none can hold up the loop."""

from spool.domain import words

__all__ = ["words"]
