"""`spool report`: what loops did, on one page."""

from datetime import datetime
from pathlib import Path

import click

from spool.cli.options.flags import Flags, option_of, takes
from spool.cli.options.groups import GroupedCommand
from spool.cli.options.loop_options import JSON, ReachFlags
from spool.cli.options.target import complete_loop
from spool.errors import UsageError

_which = option_of("Input")
_output = option_of("Output")
_EXAMPLES = (
    "spool report",
    "spool report add-auth",
    "spool report add-auth --markdown | gh pr create --body-file -",
    "spool report --since 12h --html night.html",
)


class ReportFlags(Flags, frozen=True, kw_only=True):
    """The options of `spool report`."""

    since: str | None = _which(
        "--since",
        metavar="TIME",
        help="Count only what happened since then: yesterday, today, 12h, 2026-03-02.  "
        "[default: the whole loop; without a name: yesterday]",
    )
    as_markdown: bool = _output("--markdown", help="Print Markdown, for a pull request.")
    as_json: bool = JSON
    html_file: str | None = _output(
        "--html", metavar="FILE", help="Write one HTML file with charts and diffs, and nothing to load."
    )
    reach: ReachFlags


@click.command("report", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("name", metavar="[CHANGE|RUN]", required=False, shell_complete=complete_loop)
@takes(ReportFlags)
def report(name: str | None, options: ReportFlags) -> None:
    """Report what loops did: verdicts and their evidence, attempts, time, tokens, cost, and what to type next.

    CHANGE reports its loop with all its runs, RUN a single one by its id. Without either, all loops of this
    repository that were active since yesterday. Loops may still be running.
    """
    from spool.app.loops.reach import reach_of
    from spool.app.reporting.loop_reports import diffs_of, report_on
    from spool.domain.text.moments import moment_of
    from spool.views.say import say, say_json, say_text

    if options.as_markdown + options.as_json + (options.html_file is not None) > 1:
        raise UsageError("choose one of --markdown, --json and --html")
    try:
        told = options.since or (None if name else "yesterday")
        moment = moment_of(told, datetime.now().astimezone()) if told else None
    except ValueError as error:
        raise UsageError(str(error)) from None
    found = report_on(name, reach_of(options.reach.path, everywhere=options.reach.everywhere), moment)
    if options.as_json:
        say_json(found, indent=2)
    elif options.as_markdown:
        from spool.views.report.markdown_report import markdown

        say_text(markdown(found))
    elif options.html_file is not None:
        from spool.views.report.html import html

        with Path(options.html_file).open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(html(found, diffs_of))
        say(f"Wrote {options.html_file}.", err=True)
    else:
        from spool.views.report.terminal import show_report

        show_report(found)
