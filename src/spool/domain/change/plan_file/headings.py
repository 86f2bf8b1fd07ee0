"""Separates a plan's headings that announce tasks from background."""

import re

_NUMBER = re.compile(r"^(?:[^\w\s]+\s*)?(?:\d+(?:\.\d+)*[.):]?\s+)?")


def _any_of(text: str) -> re.Pattern[str]:
    """Compile alternatives, one phrase of a pattern between each two commas."""
    return re.compile("|".join(f"(?:{' '.join(one.split())})" for one in text.split(",")), re.IGNORECASE)


_WORK = _any_of("""
    (the )?tasks?, task list, tasks? breakdown, to-?dos?, to do, to-?do list, steps, implementation,
    implementation (plan|steps|tasks|phases), action items, actions, work items, work breakdown, work plan, checklist,
    development (tasks|plan|steps), plan of (work|action), milestones, phases,
    aufgaben, arbeitspakete, schritte
""")
_MORE_WORK = _any_of("""
    verification( steps)?, roll-?out, deployment, release, launch, clean-?up, migration, testing, tests, now, next
""")
_BACKGROUND = _any_of("""
    (non[- ]?)?goals?, goals? and non-?goals?, objectives?, background, context, overview, introduction, summary,
    abstract, tl;?dr, motivation, why.*, problem( statement)?, notes?, remarks, references?, links, resources, see also,
    further reading, risks?.*, (open )?questions?, assumptions, constraints, dependencies.*, prerequisites,
    (you|what you) need, out[- ]of[- ]scope, not in .*, (in )?scope, success (criteria|metrics), metrics, kpis?,
    glossary, definitions, terms, legend, principles, appendix.*, changelog, history, (table of )?contents, toc,
    stakeholders, team.*, people, sponsors, attendees, agenda, discussion, (user )?personas?, target users?, audience,
    owners?, timeline, schedule, decisions?( log)?, alternatives( considered)?, faq, architecture, tech(nology)? stack,
    approach, current state, environment, steps to reproduce, (expected|actual) .*, how to .*, how it works, if .*,
    (relevant|critical|key)? ?files?, related.*, what (we )?(won't|will not|do not|don't) do, not (now|doing), later,
    future( work)?, ideas, maybe.*, someday.*, nice to have.*, parking lot,
    hintergrund, ziele?, nicht im umfang, nicht-?ziele?, offene fragen, notizen, risiken, 背景, 目的, 対象外, メモ, 備考
""")
_TASK_LABELS = _any_of("""
    (sub-?)?tasks?, tasks / subtasks, to-?dos?, to do, steps, checklist, implementation, implementation for .*,
    tests for .*, (teil)?aufgaben
""")
_CHECK_LABELS = _any_of("""
    acceptance( criteria)?, requirements?, (success )?criteria, definition of done, dod, deliverables,
    abnahmekriterien, akzeptanzkriterien
""")
_LEGEND = _any_of("legend, key, legende")
_DONE = _any_of("done, completed?, finished, shipped, erledigt, fertig, 完了")
_DESCRIBING = _any_of(r"""
    install(ation|ing)?, usage, license, licence, getting started, contributing, considered options, consequences,
    decision outcome, \[?unreleased\]?.*, \[?v?\d+\.\d+\.\d+\]?( .*)?, change-?\s?log, release notes,
    \[?v?\d+\.\d+\]?( [-(]? ?\d\d\d\d-.*)?
""")


def announces_work(heading: str) -> bool:
    """Whether a heading says that its lists are what is to be done."""
    return _matches(_WORK, heading)


def adds_work(heading: str) -> bool:
    """Whether the lists under a heading are to be done where others are, though it does not say that they alone are."""
    return announces_work(heading) or _matches(_MORE_WORK, heading)


def is_legend(heading: str) -> bool:
    """Whether a heading says that the marks under it are only explained."""
    return _matches(_LEGEND, heading)


def is_background(heading: str) -> bool:
    """Whether a heading says that its lists are not what is to be done."""
    return _matches(_BACKGROUND, heading)


def is_task_label(heading: str) -> bool:
    """Whether a heading inside of a story only says that its tasks follow."""
    return _matches(_TASK_LABELS, heading)


def is_check_label(heading: str) -> bool:
    """Whether a heading inside of a story names how it is checked, which are its tasks if it has no other."""
    return _matches(_CHECK_LABELS, heading)


def is_done(heading: str) -> bool:
    """Whether a heading says that what it holds is done."""
    return _matches(_DONE, heading)


def describes(heading: str) -> bool:
    """Whether a heading is that of a README, a decision record or a changelog: plain lists there ask for nothing."""
    return _matches(_DESCRIBING, heading)


def _matches(pattern: re.Pattern[str], heading: str) -> bool:
    return any(pattern.fullmatch(name.strip()) is not None for name in (heading, _NUMBER.sub("", heading)))
