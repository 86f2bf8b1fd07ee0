"""Which boxes a tasks.md has, as one table."""

import pytest

from spool.domain.change.tasks import parse_tasks

TABLE: list[tuple[str, str, int, int, bool]] = [
    ("empty", "", 0, 0, False),
    ("no box", "# Tasks\n\nSome words.\n", 0, 0, False),
    ("one open", "- [ ] a\n", 0, 1, False),
    ("one done", "- [x] a\n", 1, 0, True),
    ("capital X", "- [X] a\n", 1, 0, True),
    ("both", "- [x] a\n- [ ] b\n", 1, 1, False),
    ("CRLF", "- [x] a\r\n- [ ] b\r\n", 1, 1, False),
    ("BOM", "\ufeff- [ ] a\n", 0, 1, False),
    ("tabs", "\t-\t[ ]\ta\n", 0, 1, False),
    ("nested", "- [x] a\n  - [ ] b\n    - [ ] c\n", 1, 2, False),
    ("star and plus", "* [ ] a\n+ [x] b\n", 1, 1, False),
    ("numbered", "1. [ ] a\n2) [x] b\n", 1, 1, False),
    ("shelved is neither", "- [-] a\n- [x] b\n", 1, 0, True),
    ("only shelved is not done", "- [-] a\n", 0, 0, False),
    ("a person's is not the agent's", "- [?] a\n- [x] b\n", 1, 0, True),
    ("a box in the text", "- [ ] support [x] flag\n", 0, 1, False),
    ("not a box", "-[ ] a\n- [] b\n- [  ] c\n[ ] d\n", 0, 0, False),
    ("fenced", "```\n- [ ] a\n```\n- [x] b\n", 1, 0, True),
    ("tilde fence", "~~~md\n- [ ] a\n~~~\n- [x] b\n", 1, 0, True),
    ("a longer fence holds a shorter one", "````\n```\n- [ ] a\n```\n````\n- [x] b\n", 1, 0, True),
    ("commented out", "<!--\n- [ ] a\n-->\n- [x] b\n", 1, 0, True),
    ("commented out in one line", "<!-- - [ ] a -->\n- [x] b\n", 1, 0, True),
    ("ticked in a comment", "<!--\n- [x] a\n-->\n- [ ] b\n", 0, 1, False),
    ("a sandbox opened in a comment", "<!--\n```\n-->\n- [ ] a\n- [x] b\n```\n", 1, 1, False),
    ("a comment opened in a sandbox", "```\n<!--\n```\n- [ ] a\n- [x] b\n-->\n", 1, 1, False),
    ("an unclosed comment is none", "<!--\n- [ ] a\n- [x] b\n", 1, 1, False),
    ("an unclosed fence is none", "```\n- [ ] a\n- [x] b\n", 1, 1, False),
    ("no last newline", "- [ ] a", 0, 1, False),
    ("no text", "- [ ]\n", 0, 1, False),
]


@pytest.mark.parametrize(
    ("text", "done", "still_open", "complete"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_boxes(text: str, done: int, still_open: int, complete: bool) -> None:
    tasks = parse_tasks(text)
    assert (tasks.done_count, len(tasks.open), tasks.complete) == (done, still_open, complete)


def test_groups_and_lines() -> None:
    tasks = parse_tasks(
        "# Tasks\n## 1. First\n- [x] 1.1 a\n### Notes\n- [ ] 1.2 b\n## 2. Second ##\n- [ ] 2.1 c\n"
    ).tasks
    assert [(task.group, task.text, task.line) for task in tasks] == [
        ("1. First", "1.1 a", 3),
        ("1. First", "1.2 b", 5),
        ("2. Second", "2.1 c", 7),
    ]
