"""Completion in bash, where click leaves a path with a space as two words; zsh and fish quote it themselves."""

import os
import re
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

_SPECIAL = re.compile(r"""([\s\\'"`$&|;<>()*?!#~\[\]{}])""")


class _Bash(BashComplete):
    def format_completion(self, item: CompletionItem[Any]) -> str:
        value = item.value if _in_quotes() else _SPECIAL.sub(r"\\\1", item.value)
        return super().format_completion(CompletionItem(value.replace("\\", "\\\\"), item.type))  # `read` halves them


def _in_quotes() -> bool:
    """Whether the person has opened a quote; bash puts one word on each line."""
    return os.environ.get("COMP_WORDS", "").rpartition("\n")[2].startswith(("'", '"'))


def mend_bash() -> None:
    """Answer bash with words that stay one word."""
    add_completion_class(_Bash, "bash")
