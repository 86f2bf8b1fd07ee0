"""Distinguishes object names from git's options."""

import re

_NAME = re.compile(r"[0-9a-f]{4,64}\^?")


def is_object_name(name: str) -> bool:
    """Whether a text names an object: an agent can write state and journal, and git has options that write files."""
    return _NAME.fullmatch(name) is not None
