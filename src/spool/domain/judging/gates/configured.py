"""Reads gates from settings and flags."""

from spool.decoders import converted
from spool.domain.judging.gates.gate import BUILT_IN, GateSpec
from spool.domain.text.durations import seconds
from spool.domain.text.plain_text import one_line


def read_gates(raw: object) -> tuple[GateSpec, ...]:
    """Return gates from `[[gates]]` tables, or from one command line; raise a ValueError if one makes no sense."""
    tables = converted([{"run": raw}] if isinstance(raw, str) else raw, list[dict[str, object]])
    return tuple(_gate(table) for table in tables)


def _gate(table: dict[str, object]) -> GateSpec:
    run = one_line(str(table.get("run", "")), 40)
    given = {"name": run, **table}
    if "timeout" in given:
        given["timeout"] = seconds(given["timeout"])
    gate = converted(given, GateSpec)
    if not gate.name.strip():
        raise ValueError('a gate needs a command: run = "make test"')
    if not gate.run and gate.name not in BUILT_IN:
        raise ValueError(
            f"'{one_line(gate.name, 40)}' is not a built-in gate ({', '.join(BUILT_IN)}), and has no command"
        )
    if gate.setup and not gate.clean:
        raise ValueError(f"'{one_line(gate.name, 40)}' has a setup command, which needs clean = true")
    if outside := [name for name in gate.share if name.startswith(("/", "~")) or ".." in name.split("/")]:
        raise ValueError(f"share must stay inside the repository, unlike '{one_line(outside[0], 60)}'")
    return gate


def joined(earlier: tuple[GateSpec, ...], added: tuple[GateSpec, ...]) -> tuple[GateSpec, ...]:
    """Return the gates of two layers; a later one replaces an earlier one of the same name.

    A bare command that an earlier one runs already, under a name of its own, adds nothing.
    """
    known = {gate.run for gate in earlier if gate.run}
    new = [gate for gate in added if gate.run not in known or gate != GateSpec(name=gate.name, run=gate.run)]
    return tuple({gate.name: gate for gate in (*earlier, *new)}.values())
