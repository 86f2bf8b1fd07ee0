"""A loop that continues is judged at least as strictly as it began."""

from typing import Any

import pytest

from spool.domain.judging.gates.gate import GateSpec
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec, judging_as_before
from spool.domain.loop.summary import LoopKind

CHECKS = "continuing with the checks of the earlier run: "
SETTINGS = "continuing with the settings of the earlier run: "


def spec(*gates: str, given: tuple[str, ...] = (), relaxed: bool = False, **settings: Any) -> LoopSpec:
    chosen = Settings(gates=tuple(GateSpec(name=gate, run=gate) for gate in gates), **settings)
    return LoopSpec(
        run_id="r",
        root="/work",
        change="c",
        door=LoopKind.RALPH,
        settings=chosen,
        gates_given=given,
        baseline_given=relaxed,
    )


@pytest.mark.parametrize(
    ("now", "before", "judging", "said"),
    [
        pytest.param(spec(), spec(), spec(), (), id="nothing then, nothing now"),
        pytest.param(spec("a"), spec(), spec("a"), (), id="a new check"),
        pytest.param(spec("a"), spec("a"), spec("a"), (), id="the same check"),
        pytest.param(spec(), spec("a"), spec("a"), (f"{CHECKS}a",), id="a check that is gone from the settings"),
        pytest.param(spec("b"), spec("a", "c"), spec("a", "c", "b"), (f"{CHECKS}a, c",), id="earlier ones first"),
        pytest.param(
            spec(), spec("a", given=("a",)), spec("a", given=("a",)), (f"{CHECKS}a",), id="a check of the first command"
        ),
        pytest.param(
            spec("b", given=("b",)),
            spec("a", given=("a",)),
            spec("b", given=("b",)),
            (),
            id="a check of this command takes the place of the first one's",
        ),
        pytest.param(
            spec("b", given=("b",)),
            spec("a"),
            spec("a", "b", given=("b",)),
            (f"{CHECKS}a",),
            id="a check of this command takes no place of a setting's",
        ),
        pytest.param(
            spec("b", given=("b",)),
            spec("a", "s", given=("a",)),
            spec("s", "b", given=("b",)),
            (f"{CHECKS}s",),
            id="of both, only the command's is replaced",
        ),
        pytest.param(
            spec(),
            spec(require="proof"),
            spec(require="proof"),
            (f"{SETTINGS}require = proof",),
            id="proof no longer required",
        ),
        pytest.param(spec(require="proof"), spec(), spec(require="proof"), (), id="proof required from now on"),
        pytest.param(
            spec(baseline="tolerant"),
            spec(baseline="strict"),
            spec(baseline="strict"),
            (f"{SETTINGS}baseline = strict",),
            id="a relaxed baseline",
        ),
        pytest.param(
            spec(baseline="tolerant", relaxed=True),
            spec(baseline="strict"),
            spec(baseline="tolerant", relaxed=True),
            (),
            id="a baseline that the person relaxes",
        ),
        pytest.param(
            spec(baseline="strict"), spec(baseline="tolerant"), spec(baseline="strict"), (), id="a stricter baseline"
        ),
        pytest.param(
            spec(baseline="tolerant"),
            spec("a", require="proof", baseline="strict"),
            spec("a", require="proof", baseline="strict"),
            (f"{CHECKS}a", f"{SETTINGS}require = proof, baseline = strict"),
            id="all of it",
        ),
    ],
)
def test_what_is_missing_now_is_taken_from_the_earlier_run(
    now: LoopSpec, before: LoopSpec, judging: LoopSpec, said: tuple[str, ...]
) -> None:
    assert judging_as_before(now, before) == (judging, said)
