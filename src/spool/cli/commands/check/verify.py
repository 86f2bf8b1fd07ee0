"""`spool verify`: runs the gates by hand, or as the stop hook of an agent's own session."""

import sys
from pathlib import Path

import click
import msgspec

from spool.cli.edge import complain
from spool.cli.options import loop_options as shared
from spool.cli.options.flags import Flags, option_of, takes
from spool.cli.options.groups import GroupedCommand
from spool.cli.options.target import complete_change, on_terminal
from spool.domain.judging.gates.hook import Verification
from spool.errors import SpoolError, UsageError
from spool.views.hints import next_step
from spool.views.say import say, say_json

_hook = option_of("Hook")
_compare = option_of("Input")
_output = option_of("Output")
_LARGEST_CALL = 64 << 20
_EXAMPLES = (
    "spool verify",
    "spool verify --since main --markdown   # a branch or pull request, by anybody",
    'spool verify add-auth --verify "make test" --json',
    "spool verify --hook   # in the settings of Claude Code or Codex, as a Stop hook",
)


class VerifyFlags(Flags, frozen=True, kw_only=True):
    """The options of `spool verify`."""

    checks: shared.CheckFlags
    since: str | None = _compare(
        "--since",
        metavar="REV",
        help="Compare with where the branch left REV; without a check, use the project's tests.",
    )
    as_json: bool = shared.JSON
    markdown: bool = _output("--markdown", help="Print Markdown, for a pull request.")
    hook: bool = _hook(
        "--hook", help="Read a hook's JSON from standard input, and block the stop if a check refuses it."
    )


@click.command(
    "verify",
    cls=GroupedCommand,
    examples=_EXAMPLES,
    epilog="Exit codes: 0 nothing is refused, 1 refused or unverifiable, 2 usage error, 130 interrupted.",
)
@click.argument("change", metavar="[CHANGE | PLAN.md]", required=False, shell_complete=complete_change)
@takes(VerifyFlags)
def verify(change: str | None, options: VerifyFlags) -> int:
    """Run the checks on the working tree, and compare them with where the work began.

    The work began where the change's loop did; without a loop, at HEAD; with --since, where the branch left REV.
    """
    if options.hook:
        if options.as_json or options.markdown or options.since or change is not None:
            raise UsageError("--hook cannot be used with CHANGE, --since, --markdown or --json")
        return _answer(options.checks)
    if options.since and change is not None:
        raise UsageError("--since compares a branch, whatever change it holds: leave CHANGE out")
    found = _by_hand(change, options)
    if found is None:
        raise click.Abort
    if options.as_json:
        gates = [msgspec.structs.asdict(gate) for gate in found.gates]
        say_json({**msgspec.structs.asdict(found), "gates": gates})
    elif options.markdown:
        from spool.views.gate_view import markdown

        say(markdown(found))
    else:
        from spool.views.gate_view import show_verification

        show_verification(found)
    return 1 if found.refused else 0


def _by_hand(change: str | None, options: VerifyFlags) -> Verification | None:
    from spool.app.verifying.verify import Subject, find_subject, found_check
    from spool.app.verifying.verify import verify as run_gates
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.views.gate_view import CheckLine

    quiet = options.as_json
    subject = find_subject(Path.cwd(), change)
    line = CheckLine(quiet=quiet)
    try:
        given = shared.check_settings(options.checks)
        settings = settings_to_start(subject.root, given, ask=not quiet and on_terminal()).settings
        if options.since:  # a branch by anybody has no plan
            subject = Subject(root=subject.root)
            settings = found_check(subject, settings)
        return run_gates(subject, settings, line, since=options.since or "")
    finally:
        line.close()


def _answer(checks: shared.CheckFlags) -> int:
    """Answer a hook. Never exit with 2, which agents take for a block: what cannot be checked is not blocked."""
    from spool.app.verifying.stop_hook import HookAnswer, answer_hook, directory_of, read_call
    from spool.app.verifying.verify import find_subject
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.views.gate_view import CheckLine

    try:
        call = read_call(sys.stdin.buffer.read(_LARGEST_CALL))
        subject = find_subject(directory_of(call), None)
        settings = settings_to_start(subject.root, shared.check_settings(checks), ask=False).settings
        answer = answer_hook(call, subject, settings, CheckLine(quiet=True))
    except (SpoolError, OSError) as error:
        hint = next_step(error) if isinstance(error, SpoolError) else ""
        complain(f"not verified: {error}", hint)
        answer = HookAnswer(system_message=f"spool: not verified: {error}")
    if answer != HookAnswer():
        say_json(answer)
    return 0
