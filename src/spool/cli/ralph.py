"""`spool ralph`: reads the command line and hands on."""

import sys
from pathlib import Path
from typing import Any

import click

from spool.cli.options import Duration, GroupedCommand, option
from spool.cli.target import complete_change, load_settings, pick_change
from spool.errors import UsageError

_target = option("Which change")
_agent = option("Which agent")
_limits = option("When to stop")
_look = option("Look and steer (these start no loop)")
_output = option("Output")
_LARGEST_PROMPT = 16 << 20

_EXAMPLES = (
    'spool ralph "Implement the change" --change 002-01_add-ralph-loop',
    'spool ralph "Implement the change" -c 2-1 --harness claude --allow-all --max-iterations 10',
    "spool ralph --prompt-file prompt.md -c add-auth --fail-fast --json",
    "spool ralph --status -c add-auth",
    'spool ralph --add-context "The port is 8080, not 80" -c add-auth',
)


@click.command(
    "ralph",
    cls=GroupedCommand,
    examples=_EXAMPLES,
    epilog="Exit codes: 0 complete, 1 failed, 2 usage, 3 iterations used up, 4 stuck, 130 interrupted.",
)
@click.argument("prompt", nargs=-1)
@_target(
    "--change", "-c", metavar="ID", shell_complete=complete_change, help="Full id, 2-1, a unique prefix or a slug."
)
@_target("--module", metavar="ID", help="Offer the changes of this module.")
@_target("--prompt-file", metavar="PATH", help="Read the prompt from a file; - is standard input.")
@_target("--no-interactive", is_flag=True, help="Never ask; fail if something is missing.")
@_agent("--harness", metavar="NAME", help="The agent to run.  [default: opencode]")
@_agent("--model", metavar="NAME", help="The model that the agent is to use.")
@_agent(
    "--allow-all",
    "--yolo",
    "--dangerously-allow-all",
    "allow_all",
    is_flag=True,
    default=None,
    help="Let the agent use its tools without asking.",
)
@_agent(
    "--resume-agent", is_flag=True, default=None, help="Keep the agent's own conversation from iteration to iteration."
)
@_agent("--auto-commit", is_flag=True, default=None, help="Commit the work of each iteration.")
@_limits("--min-iterations", type=int, metavar="N", help="Go on until at least so many.  [default: 1]")
@_limits("--max-iterations", type=int, metavar="N", help="Stop after so many in this run.  [default: 50]")
@_limits("--no-max-iterations", is_flag=True, help="Never stop because of their number.")
@_limits("--completion-promise", metavar="TEXT", help="What the agent must promise.  [default: COMPLETE]")
@_limits("--fail-fast", is_flag=True, default=None, help="Stop at the first iteration that fails.")
@_limits(
    "--error-threshold", type=int, metavar="N", help="Stop after so many errors in a row; 0: never.  [default: 10]"
)
@_limits("--iteration-timeout", type=Duration(), help="End an agent that runs longer; 0: never.  [default: 2h]")
@_limits("--idle-timeout", type=Duration(), help="End an agent that is silent so long; 0: never.  [default: 30m]")
@_limits("--command-timeout", type=Duration(), help="How long git may take.  [default: 30s]")
@_limits("--fresh", is_flag=True, help="Put earlier history aside and begin at iteration 1.")
@_look("--status", is_flag=True, help="Show where the loop stands and its recent iterations.")
@_look("--add-context", metavar="TEXT", help="Add a note that the next iteration will read.")
@_look("--clear-context", is_flag=True, help="Remove all such notes.")
@_output("--no-stream", is_flag=True, help="Show only the result of each iteration.")
@_output("--json", "as_json", is_flag=True, help="Print events, or the status, as JSON lines.")
@_output("--verbose", "-v", is_flag=True, help="Show tool results and vetoed promises too.")
@click.help_option("-h", "--help", cls=None)
def ralph(prompt: tuple[str, ...], **given: Any) -> int:
    """Run an agent against a change, iteration after iteration, until it promises completion.

    Started again after a crash or Ctrl-C, the same command goes on where it was.
    """
    _refuse_contradictions(prompt, given)
    if given["status"] or given["add_context"] is not None or given["clear_context"]:
        return _look_or_steer(given)
    user_prompt = _user_prompt(prompt, given["prompt_file"])
    project, change_id = pick_change(given["change"], given["module"], interactive=_may_ask(given))
    settings = load_settings(project.root, _overrides(given))

    from spool.cli.runner import Job, View, run_job

    view = View.JSON if given["as_json"] else View.RESULTS if not settings.stream else View.STREAM
    return run_job(
        Job(
            project=project,
            change_id=change_id,
            settings=settings,
            user_prompt=user_prompt,
            fresh=given["fresh"],
            view=view,
            verbose=given["verbose"],
        )
    )


def _look_or_steer(given: dict[str, Any]) -> int:
    project, change_id = pick_change(given["change"], given["module"], interactive=_may_ask(given))
    from spool.cli import status

    if given["status"]:
        status.show(project, change_id, as_json=given["as_json"])
    elif given["clear_context"]:
        status.clear_context(project, change_id)
    else:
        status.add_context(project, change_id, given["add_context"])
    return 0


def _refuse_contradictions(prompt: tuple[str, ...], given: dict[str, Any]) -> None:
    looks = [name for name in ("status", "add_context", "clear_context") if given[name] not in (None, False)]
    if len(looks) > 1:
        raise UsageError(f"--{looks[0]} and --{looks[1]} do not go together".replace("_", "-"))
    if looks and (prompt or given["prompt_file"]):
        raise UsageError(f"--{looks[0]} takes no prompt".replace("_", "-"))
    if prompt and given["prompt_file"]:
        raise UsageError("give the prompt or --prompt-file, not both")
    if given["no_max_iterations"] and given["max_iterations"] is not None:
        raise UsageError("--max-iterations and --no-max-iterations do not go together")
    if given["max_iterations"] is not None and given["max_iterations"] < 1:
        raise UsageError("--max-iterations must be at least 1", hint="--no-max-iterations lifts the limit")


def _user_prompt(words: tuple[str, ...], file: str | None) -> str:
    text = _read_prompt(file) if file is not None else " ".join(words)
    if not text.strip():
        what = f"{file} is empty" if file is not None else "a prompt is needed"
        raise UsageError(what, hint='say what to do: spool ralph "Implement the change" --change ID')
    return text


def _read_prompt(file: str) -> str:
    try:
        data = sys.stdin.buffer.read(_LARGEST_PROMPT + 1) if file == "-" else _read_bytes(Path(file))
        if len(data) > _LARGEST_PROMPT:
            raise UsageError(f"{file} is larger than {_LARGEST_PROMPT >> 20} MiB")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise UsageError(f"cannot read the prompt from {file}: {error.strerror}") from None


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LARGEST_PROMPT + 1)


def _may_ask(given: dict[str, Any]) -> bool:
    return not given["no_interactive"] and not given["as_json"] and sys.stdin.isatty() and sys.stderr.isatty()


def _overrides(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were given as flags."""
    names = (
        "harness", "model", "min_iterations", "max_iterations", "completion_promise", "allow_all", "fail_fast",
        "auto_commit", "resume_agent", "iteration_timeout", "idle_timeout", "command_timeout", "error_threshold",
    )  # fmt: skip
    found = {name: given[name] for name in names if given[name] is not None}
    if given["no_max_iterations"]:
        found["max_iterations"] = 0
    if given["no_stream"]:
        found["stream"] = False
    return found
