"""`spool report`: what loops did, on one page."""

from datetime import datetime
from pathlib import Path

import click

from spool.cli.options.groups import GroupedCommand, option
from spool.cli.options.loop_options import REACH_OPTIONS, together
from spool.cli.options.target import complete_loop
from spool.errors import UsageError

_which = option("Input")
_output = option("Output")
_EXAMPLES = (
    "spool report",
    "spool report add-auth",
    "spool report add-auth --markdown | gh pr create --body-file -",
    "spool report --since 12h --html night.html",
)


@click.command("report", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("name", metavar="[CHANGE|RUN]", required=False, shell_complete=complete_loop)
@_which(
    "--since",
    metavar="TIME",
    help="Count only what happened since then: yesterday, today, 12h, 2026-03-02.  "
    "[default: the whole loop; without a name: yesterday]",
)
@_output("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a pull request.")
@_output("--json", "as_json", is_flag=True, help="Print JSON.")
@_output("--html", "html_file", metavar="FILE", help="Write one HTML file with charts and diffs, and nothing to load.")
@together(REACH_OPTIONS)
def report(
    name: str | None,
    since: str | None,
    as_markdown: bool,
    as_json: bool,
    html_file: str | None,
    path: str | None,
    everywhere: bool,
) -> None:
    """Report what loops did: verdicts and their evidence, attempts, time, tokens, cost, and what to type next.

    CHANGE reports its loop with all its runs, RUN a single one by its id. Without either, all loops of this
    repository that were active since yesterday. Loops may still be running.
    """
    from spool.app.loops.reach import reach_of
    from spool.app.reporting.loop_reports import diffs_of, report_on
    from spool.domain.text.moments import moment_of
    from spool.views.say import say, say_json, say_text

    if as_markdown + as_json + (html_file is not None) > 1:
        raise UsageError("choose one of --markdown, --json and --html")
    try:
        told = since or (None if name else "yesterday")
        moment = moment_of(told, datetime.now().astimezone()) if told else None
    except ValueError as error:
        raise UsageError(str(error)) from None
    found = report_on(name, reach_of(path, everywhere=everywhere), moment)
    if as_json:
        say_json(found, indent=2)
    elif as_markdown:
        from spool.views.report.markdown_report import markdown

        say_text(markdown(found))
    elif html_file is not None:
        from spool.views.report.html import html

        with Path(html_file).open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(html(found, diffs_of))
        say(f"Wrote {html_file}.", err=True)
    else:
        from spool.views.report.terminal import show_report

        show_report(found)
