"""`spool demo`: runs the scripted agent in a scratch repository. The user's files stay untouched."""

import tempfile
from pathlib import Path

import click

from spool.views.say import say, say_text


@click.command("demo")
@click.option("--keep", metavar="DIR", help="Create the repository in this directory and keep it.")
def demo(keep: str | None) -> int:
    """Run a complete loop in a scratch repository; needs no agent and no API key.

    A scripted agent works on one small change for three iterations.
    """
    if keep is not None:
        from spool.app.demo import CHANGE
        from spool.app.trust import grant

        Path(keep).mkdir(parents=True)
        root = Path(keep).resolve()
        code = _play(root)
        grant(root)
        say("", f"The repository is in {keep}. To run the loop again there:")
        say(f'  spool ralph "Implement the change" --change {CHANGE} --harness scripted --fresh')
        return code
    with tempfile.TemporaryDirectory(prefix="spool-demo-") as folder:
        return _play(Path(folder).resolve())


def _play(root: Path) -> int:
    from spool.app.demo import CHANGE, git, make_repository
    from spool.app.loops import report
    from spool.app.runner import new_run_id
    from spool.app.settings import resolve_settings
    from spool.cli.starting import run_here
    from spool.domain.loop import Door
    from spool.domain.spec import LoopSpec
    from spool.views.loop_status import show_report

    make_repository(root)
    say(f"$ spool ralph 'Implement the change' --change {CHANGE} --harness scripted --verbose")
    code = run_here(
        LoopSpec(
            run_id=new_run_id(),
            door=Door.RALPH,
            change=CHANGE,
            root=str(root),
            settings=resolve_settings(root, {"harness": "scripted"}).settings,  # its files are ours
            task="Implement the change",
            verbose=True,
            listed=False,
            again="spool demo",
        )
    )
    say("", f"$ spool ralph --status --change {CHANGE}")
    show_report(report(root, Door.RALPH, CHANGE), as_json=False)
    say("", "$ git status --short")
    say_text(git(root, "status", "--short"))
    return code
