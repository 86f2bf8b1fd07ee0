"""Which tests that were red before the work must turn green."""

import pytest

from spool.domain.judging.gates.old_failures import OldFailures, place_of, targets
from spool.domain.judging.results.model import ResultStatus, Test

RED = "tests/test_router.py::test_tail"
FRAME = 'Traceback:\n  File "/home/me/calc/tests/test_router.py", line 3\n  File "/home/me/calc/router.py", line 9\n'
PYTEST = "tests/test_router.py:3: in test_tail\n    route()\nrouter.py:9: in route\nE   KeyError\nrouter.py:9: KeyError"
OWN = "tests/test_router.py:3: AssertionError"
JEST = "Error: no\n    at route (/home/me/calc/src/router.ts:4:2)\n    at Object.<anonymous> (src/router.test.ts:2:1)"
CHANGED = frozenset({"router.py", "src/router.ts", "tests/test_router.py"})
TABLE = [
    ("old", "", "", (), {}, ""),
    ("named by its function", "Make test_tail pass.", "", (), {}, "the change names it"),
    ("all tests are asked for", "Make all the tests pass.", "", (), {}, "the change names it"),
    ("only said to be there", "All the tests are in tests/.", "", (), {}, ""),
    ("another test of its file turned green", "", "", ("tests/test_router.py::test_head",), {}, "another test of its"),
    ("a test of another file turned green", "", "", ("tests/test_calc.py::test_add",), {}, ""),
    ("it fails in a changed file", "", FRAME, (), {}, "it fails in router.py"),
    ("the same as pytest prints it", "", PYTEST, (), {}, "it fails in router.py"),
    ("the same in a stack that begins with it", "", JEST, (), {}, "it fails in src/router.ts"),
    ("it fails in itself", "", OWN, (), {}, ""),
    ("its file was not committed", "", "", (), {"uncommitted": frozenset({"tests/test_router.py"})}, "not committed"),
    ("expected to fail", "Make test_tail pass.", FRAME, (), {"known": (RED,)}, ""),
    ("expected to fail by a pattern", "", FRAME, (), {"known": ("tests/test_router.py::*",)}, ""),
    ("expected to fail by its file", "", FRAME, (), {"known": ("tests/test_router.py",)}, ""),
    ("before the last story", "", FRAME, ("tests/test_router.py::test_head",), {"final": False}, ""),
    ("before the last story, named", "Write test_tail.", "", (), {"final": False}, "the change names it"),
]


@pytest.mark.parametrize(
    ("text", "detail", "fixed", "more", "why"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_red_before_is_target_or_old(
    text: str, detail: str, fixed: tuple[str, ...], more: dict[str, object], why: str
) -> None:
    about = OldFailures(asked=text, changed=CHANGED, **more)  # type: ignore[arg-type]
    found = targets([Test(id=RED, status=ResultStatus.FAILED, detail=detail)], frozenset(fixed), about)
    assert found.get(RED, "").startswith(why) if why.startswith("the") else why in found.get(RED, "")
    assert bool(found) is bool(why)


@pytest.mark.parametrize(
    ("test", "place"),
    [
        ("tests/test_a.py::Case::test_one[x]", "tests/test_a.py"),
        ("src/a.test.ts > adds > twice", "src/a.test.ts"),
        ("example.org/calc.TestAdd/two", "example.org/calc"),
        ("tests.test_a.Case.test_one", "tests.test_a"),
        ("calc::tests::adds", "calc"),
        ("adds", ""),
    ],
)
def test_an_id_has_a_place(test: str, place: str) -> None:
    assert place_of(test) == place
