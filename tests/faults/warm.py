"""A warm interpreter: forks a runner for each request on standard input. See `machine.Warm`."""

import json
import os
import sys

import spool.app.loops
import spool.cli.looking
import spool.cli.ralph
import spool.cli.starting
import spool.cli.wt.start
import spool.harness.opencode
import spool.views.lines
import spool.views.loop_status  # noqa: F401 - all of it is loaded here, so that the forks need not
from spool.cli.edge import run
from spool.cli.main import spool as spool_command
from spool.cli.wt.main import wt_loop

PROGRAMS = {"spool": spool_command, "wt-loop": wt_loop}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
        else:
            answer = start(request["argv"], request["directory"], request["output"], request["errors"])
        print(answer, flush=True)


def start(argv: list[str], directory: str, output: str, errors: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.chdir(directory)
        for target, path, flags in (
            (0, os.devnull, os.O_RDONLY),
            (1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            (2, errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            descriptor = os.open(path, flags, 0o600)
            os.dup2(descriptor, target)
            os.close(descriptor)
        sys.argv = argv
        code = run(PROGRAMS[argv[0]], argv[0])
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the child of a fork must not return into its parent's code
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
