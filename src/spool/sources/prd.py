"""prd.json: user stories with `passes`, which Spool sets after its checks. Everything else keeps its bytes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from spool.domain.change.story import stories_of
from spool.domain.change.tasks import BOXLESS, GroupNotes, Task, TaskList
from spool.errors import ChangeError
from spool.sources.plan_format import PlanFormat
from spool.sources.source import Acceptance

_LISTS = ("userStories", "user_stories", "stories", "features", "tasks", "items", "requirements")
_TITLES = ("title", "name", "story", "description", "task", "feature")
_PLAN_TITLES = ("title", "name", "project", "feature", "description")
_CRITERIA = ("acceptanceCriteria", "acceptance_criteria", "acceptance", "criteria", "steps", "verification")
_NEEDS = ("dependsOn", "depends_on", "dependencies", "blockedBy", "blocked_by")
_DONE = ("passes", "passed", "done", "complete", "completed", "implemented", "tested", "status")
_DONE_WORDS = ("done", "complete", "completed", "passed", "passes", "finished", "closed", "implemented", "merged")
_PRIORITIES = {"critical": 0.0, "highest": 0.0, "high": 1.0, "medium": 2.0, "normal": 2.0, "low": 3.0, "lowest": 4.0}
_LAST = 1e9
_BLANK = re.compile(r"[ \t\r\n]*")
_NOT_STORIES = 'for example: {"userStories": [{"title": "Add a login form", "passes": false}]}'


class _JsonField(msgspec.Struct, frozen=True):
    """Where a key and its value stand in the text."""

    key: int
    start: int
    end: int


class _RawStory(msgspec.Struct, frozen=True):
    """One story, and where its members stand."""

    fields: dict[str, Any]
    members: dict[str, _JsonField]
    start: int

    @property
    def title(self) -> str:
        """Its title in one line; empty if the object is not a story."""
        return next((said for key in _TITLES if (said := _words(self.fields.get(key)))), "")

    @property
    def id(self) -> str:
        """Its id; empty if that is no short word."""
        said = _words(self.fields.get("id"))
        return said if re.fullmatch(r"[\w.-]{1,60}", said) else ""

    @property
    def state(self) -> str:
        """The field that says whether it is done; empty without one."""
        return next((key for key in _DONE if key in self.fields), "")

    @property
    def done(self) -> bool:
        """Whether it says that it is done."""
        value = self.fields.get(self.state)
        return value is True or (isinstance(value, str) and value.strip().lower() in _DONE_WORDS)

    @property
    def priority(self) -> float:
        """Its place among the stories: a number, or a word; last without one."""
        value = self.fields.get("priority")
        if isinstance(value, str):
            return _PRIORITIES.get(value.strip().lower(), float(value) if value.strip().isdecimal() else _LAST)
        return float(value) if isinstance(value, int | float) and abs(value) < _LAST else _LAST


def parse_prd(text: str, beside: Mapping[str, str]) -> TaskList:  # noqa: ARG001 - nothing stands beside it
    """Read the stories, by priority; refuse what is not JSON, or has no list of stories."""
    data = _loaded(text)
    tasks: list[Task] = []
    notes: dict[str, GroupNotes] = {}
    for number, raw in enumerate(_raw_stories(text, data), 1):
        group, fields = f"{number}. {raw.title}", raw.fields
        said = _words(fields.get("description"))
        details = (("Description", said),) if said and said != raw.title else ()
        line = text.count("\n", 0, raw.start) + 1
        tasks.append(Task(raw.title, "x" if raw.done else BOXLESS, line, group, details=details))
        needs, criteria = _listed(fields, _NEEDS), _listed(fields, _CRITERIA)
        notes[group] = GroupNotes(id=raw.id, title=raw.title, needs=needs, criteria=criteria)
    if not tasks:
        raise ChangeError("has no list of stories", hint=_NOT_STORIES)
    top = data if isinstance(data, dict) else {}
    return TaskList(tuple(tasks), notes, next((said for key in _PLAN_TITLES if (said := _words(top.get(key)))), ""))


def record_prd(text: str, accepted: Acceptance) -> str:
    """Return the text in which each story says whether it counts as done, and the accepted one why."""
    raws = _raw_stories(text, _loaded(text))
    words = {raw.done: raw.fields[raw.state] for raw in reversed(raws) if isinstance(raw.fields.get(raw.state), str)}
    edits: list[tuple[int, int, str]] = []
    for raw, story in zip(raws, stories_of(parse_prd(text, {})).stories, strict=True):
        counted = accepted.stories.find(story.id)
        if counted is not None and counted.complete != raw.done:
            edits.append(_marked(text, raw, words, done=counted.complete))
        if story.id == accepted.story.id:
            edits += _noted(raw, accepted.evidence)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


PRD = PlanFormat(
    kind="prd.json",
    owns=r".*\.json",
    places=tuple((folder, r"prd.*\.json") for folder in ("", "plans", "docs", "tasks", ".ralph", "scripts/ralph")),
    parse=parse_prd,
    recorder=record_prd,
)


def _marked(text: str, raw: _RawStory, words: Mapping[bool, str], *, done: bool) -> tuple[int, int, str]:
    """Return the edit that sets the state of a story, in the words of the file."""
    if not raw.state:
        last = max(raw.members.values(), key=lambda member: member.end)
        before = max(text.rfind(",", 0, last.key), text.rfind("{", 0, last.key)) + 1
        return last.end, last.end, f',{text[before : last.key]}"passes": {_quoted(done)}'
    member, value = raw.members[raw.state], raw.fields[raw.state]
    new = words.get(done, "done" if done else "pending") if isinstance(value, str) else done
    return member.start, member.end, _quoted(new)


def _noted(raw: _RawStory, evidence: str) -> Iterator[tuple[int, int, str]]:
    """Yield the edit that adds the evidence to the notes of a story, where it has notes; once."""
    said = raw.fields.get("notes", 0)
    if evidence and (said is None or isinstance(said, str)) and evidence not in (said or ""):
        member = raw.members["notes"]
        yield member.start, member.end, _quoted("\n".join(filter(None, (said, f"Spool: {evidence}"))))


def _quoted(value: str | bool) -> str:
    import json  # quick commands know every format, and read few

    new = json.dumps(value, ensure_ascii=False)
    return new if new.isascii() or not re.search("[\ud800-\udfff]", new) else json.dumps(value)


def _loaded(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ChangeError(f"is not JSON: line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise ChangeError(f"cannot be read: {error}") from None


def _raw_stories(text: str, data: Any) -> list[_RawStory]:
    """Return the stories of a plan, by priority."""
    start = _after_blank(text, 0)
    if isinstance(data, dict):
        top = _members(text, start)
        key = next((one for one in _LISTS if isinstance(data.get(one), list) and data[one]), "")
        start = top[key].start if key else -1
    if start < 0 or text[start] != "[":
        return []
    spans = list(_elements(text, start))
    raws = [_RawStory(value, _members(text, at), at) for value, at in spans if isinstance(value, dict)]
    return sorted((raw for raw in raws if raw.title), key=lambda raw: raw.priority)


def _decode(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and where it ends."""
    import json

    return json.JSONDecoder().raw_decode(text, at)


def _elements(text: str, start: int) -> Iterator[tuple[Any, int]]:
    at = _after_blank(text, start + 1)
    while text[at] != "]":
        value, end = _decode(text, at)
        yield value, at
        at = _after_blank(text, end)
        at = _after_blank(text, at + 1) if text[at] == "," else at


def _members(text: str, start: int) -> dict[str, _JsonField]:
    found: dict[str, _JsonField] = {}
    at = _after_blank(text, start + 1)
    while text[at] != "}":
        key, end = _decode(text, at)
        value = _after_blank(text, _after_blank(text, end) + 1)
        end = _decode(text, value)[1]
        found[key] = _JsonField(at, value, end)
        at = _after_blank(text, end)
        at = _after_blank(text, at + 1) if text[at] == "," else at
    return found


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _words(value: Any) -> str:
    """Return a value in one line; empty if it is not a word or a number."""
    return " ".join(str(value).split()) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _listed(fields: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    value = next((fields[key] for key in keys if fields.get(key)), ())
    return tuple(filter(None, map(_words, value if isinstance(value, list) else [value])))
