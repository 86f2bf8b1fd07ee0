"""Runs of gates, as values."""

from spool.domain.judging.gates.gate import GateRun
from spool.domain.judging.results.model import Results, ResultStatus, Test


def results(complete: bool = True, **tests: str) -> Results:
    return Results(
        tests=tuple(Test(id=name, status=ResultStatus(how)) for name, how in tests.items()), complete=complete
    )


def run(exit_code: int | None = 0, found: Results | None = None, **more: object) -> GateRun:
    return GateRun(exit_code=exit_code, results=found, **more)  # type: ignore[arg-type]
