"""`spool demo`: runs the scripted agent in a scratch repository. The user's files stay untouched."""

import tempfile
from pathlib import Path

import click


@click.command("demo")
@click.option("--keep", metavar="DIR", help="Create the repository in this directory and keep it.")
def demo(keep: str | None) -> int:
    """Run a complete loop in a scratch repository; needs no agent and no API key.

    A scripted agent works on one small change for three iterations.
    """
    if keep is not None:
        from spool.app.demo import CHANGE

        Path(keep).mkdir(parents=True)
        code = _play(Path(keep).resolve())
        click.echo(f"\nThe repository is in {keep}. To run the loop again there:")
        click.echo(f'  spool ralph "Implement the change" --change {CHANGE} --harness scripted --fresh')
        return code
    with tempfile.TemporaryDirectory(prefix="spool-demo-") as folder:
        return _play(Path(folder).resolve())


def _play(root: Path) -> int:
    from spool.app.demo import CHANGE, git, make_repository
    from spool.app.loops import report
    from spool.app.runner import new_run_id
    from spool.app.settings import load_settings
    from spool.cli.starting import run_here
    from spool.domain.loop import Door
    from spool.domain.spec import LoopSpec
    from spool.views.loop_status import show_report

    make_repository(root)
    click.echo(f"$ spool ralph 'Implement the change' --change {CHANGE} --harness scripted --verbose")
    code = run_here(
        LoopSpec(
            run_id=new_run_id(),
            door=Door.RALPH,
            change=CHANGE,
            root=str(root),
            settings=load_settings(root, {"harness": "scripted"}),
            task="Implement the change",
            verbose=True,
            listed=False,
            again="spool demo",
        )
    )
    click.echo(f"\n$ spool ralph --status --change {CHANGE}")
    show_report(report(root, Door.RALPH, CHANGE), as_json=False)
    click.echo("\n$ git status --short")
    click.echo(git(root, "status", "--short"), nl=False)
    return code
