"""Settings: which layer wins, and what is refused."""

import pytest

from spool.domain.loop.settings import OWN, Layer, Settings, merge
from spool.domain.text.durations import seconds
from spool.domain.text.sizes import size
from spool.errors import UsageError


def test_the_last_layer_wins_and_is_named() -> None:
    resolved = merge(
        [Layer("file", {"harness": "claude", "max_iterations": 5}), Layer("SPOOL_HARNESS", {"harness": "codex"})]
    )
    assert (resolved.settings.harness, resolved.settings.max_iterations) == ("codex", 5)
    assert (resolved.origins["harness"], resolved.origins["max_iterations"]) == ("SPOOL_HARNESS", "file")
    assert resolved.origins["model"] == "default"


def test_defaults() -> None:
    assert merge([]).settings == Settings()
    assert Settings().max_iterations is None  # each door has a default of its own


def test_strings_from_the_environment_are_read() -> None:
    values = {"max_iterations": "7", "allow_all": "true", "idle_timeout": "15m"}
    settings = merge([Layer("env", values)]).settings
    assert (settings.max_iterations, settings.allow_all, settings.idle_timeout) == (7, True, 900.0)


@pytest.mark.parametrize(
    ("raw", "value"),
    [(90, 90.0), ("90", 90.0), ("1.5s", 1.5), ("15m", 900.0), ("2h", 7_200.0), ("250ms", 0.25), (0, 0.0)],
)
def test_durations(raw: object, value: float) -> None:
    assert seconds(raw) == value


@pytest.mark.parametrize("raw", ["", "soon", "-1", -1, "1 week", True, float("inf"), float("nan")])
def test_bad_durations(raw: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds(raw)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"max_iterations": -1}, "max_iterations cannot be negative"),
        ({"min_iterations": 5, "max_iterations": 3}, "min_iterations is more than max_iterations"),
        ({"completion_promise": " "}, "completion_promise cannot be empty"),
        ({"completion_promise": "<b>"}, "completion_promise cannot contain"),
        ({"completion_promise": "FAILED: x"}, "completion_promise cannot be FAILED"),
        ({"max_iterations": "many"}, "max_iterations is invalid"),
        ({"max_iteration": 3}, "unknown setting 'max_iteration' in"),
        ({"harnesses": {"mine": 3}}, "harnesses"),
        ({"stall_iterations": "many"}, "stall_iterations is invalid: 'many' is not a whole number"),
        ({"max_cost_usd": float("nan")}, "max_cost_usd must be a finite number"),
        ({"max_cost_per_day": -0.5}, "max_cost_per_day cannot be negative"),
        ({"prices": {"m": {"input": 1}}}, "prices is invalid: Object missing required field `output`"),
        ({"prices": {"m": {"input": -1, "output": 1}}}, "prices is invalid"),
        ({"prices": {"m": {"input": float("nan"), "output": 1}}}, "prices is invalid"),
    ],
)
def test_what_cannot_be_meant_is_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        merge([Layer("here", values)])


@pytest.mark.parametrize(
    ("origin", "value", "said"),
    [
        ("--max-retries", -1, "--max-retries cannot be negative"),
        ("SPOOL_MAX_RETRIES", -1, "SPOOL_MAX_RETRIES cannot be negative"),
        ("config.toml", -1, "config.toml: max_retries cannot be negative"),
        ("SPOOL_MAX_RETRIES", "many", "SPOOL_MAX_RETRIES is invalid: 'many' is not a whole number"),
        ("config.toml", "many", "config.toml: max_retries is invalid: 'many' is not a whole number"),
    ],
)
def test_an_error_names_what_it_is_about_once(origin: str, value: object, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        merge([Layer(origin, {"max_retries": value})])
    assert str(refused.value) == said


@pytest.mark.parametrize("name", OWN)
def test_a_repository_cannot_set_what_holds_for_all_loops(name: str) -> None:
    value = getattr(Settings(), name)
    assert merge([Layer("mine", {name: value})]).origins[name] == "mine"
    with pytest.raises(UsageError, match=f"theirs cannot set {name}"):
        merge([Layer("theirs", {name: value}, of_repository=True)])


def test_an_error_about_two_flags_names_both() -> None:
    with pytest.raises(UsageError, match="--min-iterations is more than --max-iterations"):
        merge([Layer("--min-iterations", {"min_iterations": 9}), Layer("--max-iterations", {"max_iterations": 3})])


@pytest.mark.parametrize(
    ("raw", "value"),
    [("4G", 4 << 30), ("4GiB", 4 << 30), ("0.5g", 1 << 29), ("512 MB", 1 << 29), (1 << 30, 1 << 30), ("0", 0)],
)
def test_sizes(raw: object, value: int) -> None:
    assert size(raw) == value
    assert merge([Layer("config.toml", {"agent_memory": raw})]).settings.agent_memory == value


@pytest.mark.parametrize("raw", ["", "G", "-1", "4X", "1M", "1e30", "99999999T"])
def test_bad_sizes(raw: object) -> None:
    with pytest.raises(ValueError, match="size"):
        size(raw)
