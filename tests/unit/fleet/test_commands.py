"""The commands of the fleet."""

from spool.cli.commands.fleet.submit import submit


def test_agent_is_an_alias_of_harness() -> None:
    names = {name for option in submit.params for name in option.opts}
    assert {"--harness", "--agent"} <= names
