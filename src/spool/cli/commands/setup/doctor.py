"""`spool doctor`: examines the machine and this repository."""

from pathlib import Path

import click
import msgspec

from spool.app.machine.diagnosis import Diagnosis, Health
from spool.app.machine.doctor import examine, mend
from spool.domain.text.plain_text import counted
from spool.views.hints import worded
from spool.views.look import Role
from spool.views.paragraphs import say_hanging
from spool.views.say import say, say_json

_ROLES = {Health.GOOD: Role.GOOD, Health.NOTE: Role.WARN, Health.BAD: Role.BAD}


@click.command("doctor", epilog="Exit codes: 0 no problem is left, 1 one is, 2 usage error.")
@click.option("--fix", is_flag=True, help="Fix what can be fixed; nothing is deleted.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def doctor(fix: bool, as_json: bool) -> int:
    """Examine git, the agents, the terminals, the sandbox, the disk and what Spool has written.

    Names what it would fix; --fix does it.
    """
    cases = examine(Path.cwd())
    found = [mend(case) if fix else case.found for case in cases]
    if as_json:
        say_json({"findings": [{**_fields(one)} for one in found]})
    else:
        for one in found:
            _show(one)
        _sum_up(found, fixed=fix)
    return 1 if any(one.health is Health.BAD and not one.mended for one in found) else 0


def _fields(one: Diagnosis) -> dict[str, object]:
    return {
        "area": one.area,
        "health": one.health,
        "what": one.what,
        "hint": worded(one.hint),
        "mend": one.mend,
        "mended": one.mended,
        **({"agent": msgspec.to_builtins(one.agent)} if one.agent else {}),
    }


def _show(one: Diagnosis) -> None:
    state = "repaired" if one.mended else str(one.health)
    colour = _ROLES[Health.GOOD if one.mended else one.health].colour
    say_hanging(f"{state:<8} {one.area:<10} ", one.what, colour=colour, word=state)
    if one.health is not Health.GOOD and not one.mended:
        for text in (worded(one.hint), f"--fix would: {one.mend}" if one.mend else ""):
            if text:
                say_hanging(" " * 20, text)


def _sum_up(found: list[Diagnosis], *, fixed: bool) -> None:
    problems = [one for one in found if one.health is Health.BAD and not one.mended]
    mendable = [one for one in found if one.mend and not one.mended]
    say("", f"{counted(len(problems), 'problem')}." if problems else "No problem.")
    if mendable and not fixed:
        say(f"spool doctor --fix repairs {counted(len(mendable), 'finding')} and deletes nothing.")
