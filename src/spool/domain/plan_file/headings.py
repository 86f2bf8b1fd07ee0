"""Which headings of a plan announce tasks, and which give background."""

import re

_NUMBER = re.compile(r"^(?:[^\w\s]+\s*)?(?:\d+(?:\.\d+)*[.):]?\s+)?")


def _any_of(text: str) -> re.Pattern[str]:
    """Compile alternatives, one phrase of a pattern between each two commas."""
    return re.compile("|".join(f"(?:{' '.join(one.split())})" for one in text.split(",")), re.IGNORECASE)


_WORK = _any_of("""
    (the )?tasks?, task list, tasks? breakdown, (a )?to-?dos?, to do, to-?do list, steps, implementation,
    implementation (plan|steps|tasks|phases), action items, actions, work items, work breakdown, work plan, checklist,
    development (tasks|plan|steps), plan of (work|action), milestones, phases
""")
_BACKGROUND = _any_of("""
    (non[- ]?)?goals?, goals? and non-?goals?, objectives?, background, context, overview, introduction, summary,
    abstract, tl;?dr, motivation, why, problem( statement)?, notes?, remarks, references?, links, resources, see also,
    further reading, risks?.*, (open )?questions?, assumptions, constraints, dependencies, prerequisites,
    out[- ]of[- ]scope, (in )?scope, success (criteria|metrics), metrics, kpis?, glossary, definitions, terms,
    appendix.*, changelog, history, (table of )?contents, toc, stakeholders, team, people, (user )?personas?,
    target users?, audience, owners?, timeline, schedule, decisions?( log)?, alternatives( considered)?, faq,
    architecture, tech(nology)? stack, (relevant )?files?, related.*, what (we )?(won't|will not|do not|don't) do,
    not (now|doing), later, future( work)?, ideas, nice to have.*, parking lot
""")
_LABELS = _any_of("""
    acceptance( criteria)?, requirements?, criteria, (sub-?)?tasks?, to-?dos?, to do, steps, checklist,
    definition of done, deliverables, implementation
""")


def announces_work(heading: str) -> bool:
    """Whether a heading says that its lists are what is to be done."""
    return _matches(_WORK, heading)


def is_background(heading: str) -> bool:
    """Whether a heading says that its lists are not what is to be done."""
    return _matches(_BACKGROUND, heading)


def is_label(text: str) -> bool:
    """Whether a bold line names a part of the story that it stands in, not a story of its own."""
    return _matches(_LABELS, text)


def _matches(pattern: re.Pattern[str], heading: str) -> bool:
    return pattern.fullmatch(_NUMBER.sub("", heading).strip()) is not None
