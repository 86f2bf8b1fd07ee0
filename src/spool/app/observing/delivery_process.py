"""Deliver one notice: `python -m spool.app.observing.delivery_process`, the delivery as JSON on standard input."""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any

import msgspec

from spool.app.observing.notices import Delivery
from spool.decoders import decoded
from spool.domain.account.occasions import Notice

_COMMAND_S = 60.0
_DESKTOP_S = 10.0
_REQUEST_S = 10.0
_PAUSES_S = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Between the tries of a webhook; after the last one the notice is dropped."""
_APPLESCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: a notice goes where its owner said."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


def main() -> int:
    """Deliver the notice on standard input to each of its outlets."""
    delivery = decoded(sys.stdin.buffer.read(), Delivery)
    if delivery.desktop:
        show_on_desktop(delivery.notice)
    if delivery.command:
        run_command(delivery)
    if delivery.webhook:
        return 0 if post(delivery.webhook, delivery.notice) else 1
    return 0


def show_on_desktop(notice: Notice) -> None:
    """Show a notice on the desktop, if there is a program for it."""
    if shutil.which("notify-send"):
        _run(["notify-send", "--app-name=Spool", "--", notice.title, notice.text])
    elif shutil.which("osascript"):
        words = [word for line in _APPLESCRIPT for word in ("-e", line)]
        _run(["osascript", *words, notice.title, notice.text])


def _run(words: list[str]) -> None:
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, timeout=_DESKTOP_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return


def run_command(delivery: Delivery) -> None:
    """Run the person's command with the notice as JSON on standard input, for at most a minute."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", delivery.command], stdin=subprocess.PIPE, cwd=delivery.root, process_group=0
    )
    try:
        process.communicate(msgspec.json.encode(delivery.notice) + b"\n", timeout=_COMMAND_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def post(url: str, notice: Notice, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Post a notice as JSON; try again after an error that may pass. Return whether it arrived."""
    body = msgspec.json.encode({**msgspec.to_builtins(notice), "message": f"{notice.title}: {notice.text}"})
    request = urllib.request.Request(  # noqa: S310 - the settings allow http and https only
        url, data=body, headers={"Content-Type": "application/json", "User-Agent": "spool"}, method="POST"
    )
    opener = urllib.request.build_opener(_NoRedirects)
    for pause_s in (*_PAUSES_S, None):
        try:
            with opener.open(request, timeout=_REQUEST_S):
                return True
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):  # it would be refused again
                return False
        except (OSError, ValueError, HTTPException):  # the last: the answer is not HTTP
            pass
        if pause_s is not None:
            sleep(pause_s)
    return False


if __name__ == "__main__":
    sys.exit(main())
