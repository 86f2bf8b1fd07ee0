"""`spool land`: takes finished changes to a branch, rebased and checked on the result."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spool.cli.options import loop_options as shared
from spool.cli.options.flags import Flags, option_of, takes
from spool.cli.options.groups import GroupedCommand
from spool.cli.options.target import complete_change, on_terminal
from spool.errors import UsageError
from spool.views.say import say, say_json

if TYPE_CHECKING:
    from spool.domain.account.landing_order import Train
    from spool.views.landing_view import LandLines

_what = option_of("Input")
_run = option_of("Run")
_EXAMPLES = (
    "spool land",
    "spool land add-auth fix-login --onto main --archive",
    'spool land --verify "make test" --dry-run',
    "spool land --status",
)


class LandFlags(Flags, frozen=True, kw_only=True):
    """The options of `spool land`."""

    onto: str = _what("--onto", metavar="BRANCH", default="", help="The branch to move.  [default: main, else master]")
    allow_unverified: bool = _what("--allow-unverified", help="Land also what no check has verified.")
    checks: shared.CheckFlags
    archive: bool = _run("--archive", help="Archive each change in the same move, in a commit of its own.")
    repair: bool = _run("--repair", help="Let the agent fix conflicts and failing checks, and try again.")
    dry_run: bool = _run("--dry-run", "-n", help="Rebase in a throwaway clone, and check and move nothing.")
    status: bool = _run("--status", help="Show what became of the last landings, and start none.")
    as_json: bool = shared.JSON


@click.command(
    "land",
    cls=GroupedCommand,
    examples=_EXAMPLES,
    epilog="Exit codes: 0 everything landed, 1 something did not, 2 usage error, 130 interrupted.",
)
@click.argument("changes", metavar="[CHANGE]...", nargs=-1, shell_complete=complete_change)
@takes(LandFlags)
def land(changes: tuple[str, ...], options: LandFlags) -> int:
    """Rebase finished changes onto a branch, run the checks on the result, and move the branch.

    Without CHANGE, land all changes whose loops are done and verified. A change that conflicts, or whose result a check
    refuses, keeps its branch, and the others land without it. A working tree that has the branch checked out follows,
    if it is clean. With --repair, the agent of such a change gets one more story, with the reason; the setting
    max_repairs says how often.
    """
    from spool.views.landing_view import LandLines, show_train, with_next

    if options.status:
        return _status(changes, as_json=options.as_json)
    line = LandLines(quiet=options.as_json, planned=options.dry_run)
    try:
        train = _landed(changes, options, line)
    finally:
        line.close()
    if options.as_json:
        landings = train.landings if options.dry_run else with_next(train.landings)
        say_json({"onto": train.onto, "target": train.target, "landings": landings})
    else:
        show_train(train, planned=options.dry_run)
    return train.exit_code


def _landed(changes: tuple[str, ...], options: LandFlags, view: "LandLines") -> "Train":
    from spool.app.landing.attempt import LandRequest
    from spool.app.landing.train import land as run_train
    from spool.app.verifying.verify import find_subject
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.domain.loop.spec import Show
    from spool.views.live.view_choice import observers_of

    root = find_subject(Path.cwd(), None).root
    given = shared.check_settings(options.checks)
    request = LandRequest(
        root=root,
        settings=settings_to_start(root, given, ask=not options.as_json and on_terminal()).settings,
        names=changes,
        onto=options.onto,
        allow_unverified=options.allow_unverified,
        archive=options.archive,
        repair=options.repair,
        dry_run=options.dry_run,
        show=Show.NOTHING if options.as_json else Show.RESULTS,
    )
    return run_train(request, view, observers_of)


def _status(changes: tuple[str, ...], *, as_json: bool) -> int:
    from spool.app.landing.train import landings_of
    from spool.domain.change.change import resolve
    from spool.views.landing_view import show_landings, with_next

    found = landings_of(Path.cwd())
    if changes:
        known = [one.change for one in found]
        if not known:
            raise UsageError("nothing has landed here yet, and nothing was tried")
        wanted = {resolve(name, known) for name in changes}
        found = [one for one in found if one.change in wanted]
    if as_json:
        say_json(with_next(found))
    elif not found:
        say("No landings.")
    else:
        show_landings(found)
    return 0
