"""A pytest plugin that appends one JSON line per test to a new file in the folder $SPOOL_RESULTS.

It runs in the user's own interpreter, so it imports nothing of Spool and reads as Python 2.7 as well as 3. pytest finds
it by its entry point while this folder is on PYTHONPATH; where PYTHONPATH is replaced, pytest runs without it.
"""

import json
import os
import time

LIMIT = 20000


class Writer(object):
    """Writes what pytest reports; under xdist, only in the controller."""

    def __init__(self, path, version):
        self._path = path
        self._pid = os.getpid()
        self._deselected = 0
        self._append({"pytest": version}, os.O_CREAT | os.O_EXCL)

    def pytest_runtest_logreport(self, report):
        """Write a test's call, and a setup or teardown that did not pass."""
        if report.when == "call" or report.outcome != "passed":
            self._write(report, report.when)

    def pytest_collectreport(self, report):
        """Write a file that could not be collected, or was skipped as a whole."""
        if report.outcome != "passed":
            self._write(report, "collect")

    def pytest_deselected(self, items):
        """Count tests that the command line leaves out."""
        self._deselected += len(items)

    def pytest_sessionfinish(self, session, exitstatus):
        """Write the end mark."""
        collected = getattr(session, "testscollected", None)
        self._append({"end": int(exitstatus), "collected": collected, "deselected": self._deselected})

    def _write(self, report, when):
        line = {"id": report.nodeid, "when": when, "outcome": report.outcome}
        if hasattr(report, "wasxfail"):
            line["xfail"] = True
            line["text"] = str(report.wasxfail)[:LIMIT]
        elif report.outcome != "passed":
            line["text"] = _text(report)
        self._append(line)

    def _append(self, line, flags=0):
        # Opened for each line: a test may close descriptors that are not its own. A forked test may get here twice.
        if os.getpid() != self._pid:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | flags, 0o600)
            try:
                os.write(descriptor, (json.dumps(line) + "\n").encode("ascii"))
            finally:
                os.close(descriptor)
        except (OSError, ValueError):  # the end mark will be missing; the user's tests go on
            return


def _text(report):
    """Return the message of a failure, then the end of its traceback; for a skip, its reason."""
    longrepr = getattr(report, "longrepr", None)
    if isinstance(longrepr, tuple):
        return str(longrepr[-1])[:LIMIT]
    try:
        return str(longrepr)[-LIMIT:]
    except Exception:  # noqa: BLE001 - a failure that cannot be printed is still a failure
        return ""


def pytest_configure(config):
    """Start to write, unless this pytest was started by another one's test."""
    # Taken out of the environment: a pytest that a test starts reports to that test alone.
    folder = os.environ.pop("SPOOL_RESULTS", None)
    if not folder or hasattr(config, "workerinput") or hasattr(config, "slaveinput"):
        return
    name = "pytest-%020d-%d.jsonl" % (int(time.time() * 1000000), os.getpid())
    import pytest

    config.pluginmanager.register(Writer(os.path.join(folder, name), pytest.__version__), "spool-results-writer")
