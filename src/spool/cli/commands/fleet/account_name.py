"""The name of an account, as a flag or an argument."""

import click

from spool.domain.text.plain_text import one_line
from spool.fleet.values import is_account


class AccountName(click.ParamType[str]):
    """Takes what can name an account; a flag without a value names none."""

    name = "account"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail."""
        if is_account(value) or (param is not None and value == param.default):
            return value
        return self.fail(
            f"'{one_line(value, 60)}' is not the name of an account: letters, digits and . _ @ + -", param, ctx
        )
