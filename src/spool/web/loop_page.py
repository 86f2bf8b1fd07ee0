"""The page of one loop: what it does now, its stories with tasks and gates, the agent's stream, and its figures."""

from collections.abc import Iterator
from datetime import datetime
from html import escape

import msgspec

from spool.app.loops.following import JournalPage
from spool.app.reporting.live_histories import FollowedLoop
from spool.domain.account.history import Activity, LoopNow, Stretch
from spool.domain.account.story_history import WHOLE
from spool.domain.change.story import Story
from spool.domain.loop.events import GateStarted
from spool.domain.loop.summary import LoopSummary
from spool.views import words
from spool.views.live.estimates import Estimate
from spool.views.look import DONE, FAILED, OPEN, RUNNING, UNSURE, Role, Sign, status_sign
from spool.views.loop_status import capacity_words
from spool.views.report import parts, report_words
from spool.views.report.parts import text
from spool.web.links import Links
from spool.web.page_transcript import PageTranscript

_ITERATIONS = 200
_PARTS = ("stories", "agent", "figures", "next")


def loop_panels(live: FollowedLoop, links: Links, now: datetime) -> dict[str, str]:
    """Return the parts of the page that follow the loop."""
    account = live.account
    history = account.history
    sign = status_sign(history.status, history.proof).sign
    if account.gone:
        return {"title": f"{sign} {account.loop.change}", "now": "<p>Its journal is gone; nothing more is known.</p>"}
    return {
        "title": f"{sign} {account.loop.change}",
        "say": report_words.verdict(history),
        "now": parts.verdict(history) + _now(live, now),
        "stories": _stories(live, links),
        "figures": parts.figure_list(account) + parts.night(history),
        "time": parts.over_time(history),
        "iterations": _iterations(live, links),
        "next": parts.next_steps(account),
    }


def loop_page(
    live: FollowedLoop, panels: dict[str, str], stream: JournalPage | None, links: Links, controls: str
) -> str:
    """Return the content of the page, with the end of the agent's stream."""
    loop = live.account.loop
    transcript = PageTranscript(links, loop)
    blocks = transcript.take(stream.rows) if stream else ""
    cursor = f"{stream.journal}-{transcript.resumes_at if stream.rows else stream.stop}" if stream else ""
    earlier = links.log(loop, before=stream.start) if stream and stream.start else ""
    nav = "".join(f'<a href="#{name}">{name.capitalize()}</a> ' for name in _PARTS)
    panel = {name: f'<div data-panel="{name}">{panels.get(name, "")}</div>' for name in (*panels, *_NAMES)}
    return (
        f'<main id="main" class="loop" data-stream="{links.stream(loop)}" data-from="{cursor}">'
        f"<h1>{text(report_words.title(live.account))}</h1>{panel['now']}{controls}"
        f'<nav class="parts" aria-label="Parts of this page">{nav}</nav><div class="columns"><div>'
        f'<section id="stories" aria-label="Stories"><h2>Stories</h2>{panel["stories"]}</section></div>'
        f'<section id="agent" aria-label="Agent"><h2>Agent</h2>{_stream(blocks, earlier, links.log(loop))}</section>'
        f"<div>"
        f'<section id="figures" aria-label="Figures"><h2>Figures</h2>{panel["figures"]}{panel["time"]}'
        f"<details><summary>Every iteration</summary>{panel['iterations']}</details></section>"
        f'<section id="next" aria-label="Next"><h2>Next</h2>{panel["next"]}</section></div></div></main>'
    )


_NAMES = ("now", "stories", "figures", "time", "iterations", "next")


def control_forms(loop: LoopSummary, links: Links) -> str:
    """Return the forms for a loop; only a running one can be stopped."""
    stop = (
        f'<form method="post" action="{links.act(loop, "stop")}"><p>'
        '<button type="submit" class="bad">Stop this loop</button> '
        "<small>The agent is ended; nothing is lost, and the same command continues.</small></p></form>"
    )
    note = (
        f'<form method="post" action="{links.act(loop, "note")}">'
        '<p><label for="note">Note for all later prompts</label></p>'
        '<textarea id="note" name="note" rows="3" required></textarea>'
        '<p><button type="submit">Add the note</button></p></form>'
    )
    return f"<details><summary>Control</summary>{stop if loop.running else ''}{note}</details>"


def _stream(blocks: str, earlier: str, log: str) -> str:
    hidden = "" if earlier else " hidden"
    return (
        f'<p><a id="earlier" href="{escape(earlier or log)}" data-log="{escape(log)}"{hidden}>Earlier</a> '
        f'<a href="{escape(log)}">On a page of its own</a></p>'
        '<div id="log" class="log" tabindex="0" role="region" aria-label="The agent\'s stream">'
        f"<div>{blocks}</div></div>"
    )


def _now(live: FollowedLoop, now: datetime) -> str:
    loop, history = live.account.loop, live.account.history
    if not loop.running:
        return ""
    doing = history.now
    last = history.attempts[-1] if history.attempts else None
    tries = f", attempt {doing.attempt} of {doing.max_attempts}" if doing.max_attempts and not history.whole else ""
    found = [("Now", f"{_doing(loop, doing, now)}{'; a stop is requested' if doing.stop_pending else ''}")]
    if last is not None and not last.outcome:
        found.append(("Iteration", f"{last.iteration}{tries}, for {words.duration(last.lasts_s(now))}"))
    found.append(("Agent", f"{history.agent}, {history.sandbox}"))
    found.append(("Used", capacity_words(loop.capacity)))
    return f'<div class="now">{parts.pairs(found)}</div>'


def _doing(loop: LoopSummary, doing: LoopNow, now: datetime) -> str:
    if (wait := doing.waiting) is not None:
        left_s = max(0.0, (wait.until - now).total_seconds())
        return f"waiting, {words.duration(left_s)} left, until {words.clock(wait.until)}: {wait.reason}"
    if doing.checking is not None:
        return f"{words.checking(doing.checking)}{_so_far(doing.checking, now)}"
    if doing.working is not None:
        return f"{words.working(doing.working)}, {doing.working.share:.0%}"
    return str(loop.phase or "starting")


def _so_far(gate: GateStarted, now: datetime) -> str:
    if gate.at is None:
        return ""
    elapsed_s = max(0.0, (now - gate.at).total_seconds())
    estimate = Estimate(expected_s=gate.expected_s).words(elapsed_s)
    return f", {words.duration(elapsed_s)}{f' {estimate}' if estimate else ''}"


def _stories(live: FollowedLoop, links: Links) -> str:
    history, loop = live.account.history, live.account.loop
    table = parts.story_table(history, lambda story_id: links.story(loop, story_id))
    return f"<p>{text(report_words.standings(history))}</p>{table}{''.join(_current(live))}"


def _current(live: FollowedLoop) -> Iterator[str]:
    """Yield the tasks and the gates of the running story."""
    if not live.account.loop.running:
        return
    history = live.account.history
    shown = [story for story in live.stories.stories if history.whole or story.id == history.now.current]
    for story in shown:
        yield f"<h3>Tasks of {text(f'{story.id} {story.title}')}</h3>{task_list(story)}"
    last = history.attempts[-1] if history.attempts else None
    since = last.began_at if last else None
    gates = [
        one for one in history.stretches if one.activity is Activity.GATES and (since is None or one.began_at >= since)
    ]
    checking = history.now.checking
    if gates or checking:
        yield f'<h3>Gates</h3><ul class="signs">{"".join(map(_gate, gates))}'
        if checking:
            yield sign_item(Sign(RUNNING, Role.ODD), words.checking(checking))
        yield "</ul>"


def task_list(story: Story) -> str:
    """Return the tasks of a story with their boxes, as they stand in its file."""
    if not story.tasks:
        return "<p>none</p>"
    items = [
        sign_item(
            Sign(DONE, Role.GOOD) if task.done else Sign(OPEN if task.open else task.mark, Role.DIM),
            f"{task.id} {task.text}",
            "done" if task.done else "open" if task.open else "",
        )
        for task in story.tasks
    ]
    return f'<ul class="signs">{"".join(items)}</ul>'


def sign_item(sign: Sign, said: str, word: str = "") -> str:
    """Return an item of a list with its sign, and the sign's meaning for those who hear the page."""
    heard = f'<span class="heard">{text(word)}: </span>' if word else ""
    seen = f'<span class="{parts.role_name(sign.role)}" aria-hidden="true">{text(sign.sign)}</span>'
    return f"<li>{seen} {heard}{text(said)}</li>"


def _gate(one: Stretch) -> str:
    sign, word = {
        True: (Sign(DONE, Role.GOOD), "green"),
        False: (Sign(FAILED, Role.BAD), "red"),
        None: (Sign(UNSURE, Role.DIM), ""),
    }[one.good]
    return sign_item(sign, f"{one.label}{f', {word}' if word else ''}, {words.duration(one.seconds)}")


def _iterations(live: FollowedLoop, links: Links) -> str:
    loop, whole = live.account.loop, live.account.history
    history = msgspec.structs.replace(whole, attempts=whole.attempts[-_ITERATIONS:])
    left_out = len(whole.attempts) - len(history.attempts)
    more = f"<p>{left_out} earlier iterations are left out.</p>" if left_out else ""
    at = [live.starts.get(one.iteration) for one in history.attempts]
    addresses = ["" if place is None else links.log(loop, at=place) for place in at]
    rows = report_words.iteration_rows(history)
    return more + parts.table(report_words.ITERATION_HEAD, rows, links=addresses, linked=0)


def whole_story(live: FollowedLoop, story_id: str) -> list[Story]:
    """Return the story of an id as its files have it; all of them for a loop without stories."""
    return [story for story in live.stories.stories if story_id in (WHOLE, story.id)]
