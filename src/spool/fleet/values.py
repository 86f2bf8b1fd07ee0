"""Values and decisions of a fleet: which snapshot of a change is the latest, and who may continue from it."""

import hashlib
import re
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from spool.domain.loop.verdict import Status
from spool.domain.text.redaction import redacted

PROTOCOL = 1
"""Version of what workers, snapshots and the queue share. A worker takes only work of its own version."""
_QUEUE = "spool-fleet-"
REFS = "refs/spool/fleet/"
"""The prefix of all snapshots."""
HEARTBEAT_S = 60.0
"""Seconds after which a silent host has lost its change. With 10 s, a server outage of 25 s stopped every agent."""
LEASE_SHARE = 0.8
"""The share of the heartbeat timeout after which a worker that cannot renew its lease stops its child."""
_ID = re.compile(r"[A-Za-z0-9._-]+-[0-9a-f]{4}/[^/]+")
_ACCOUNT = re.compile(r"[\w.@+-]{1,60}", re.ASCII)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_URL = re.compile(r"(?:[\w+.-]+::)*(?:[\w+.-]+:)?//(?P<netloc>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL)
"""A URL as git takes it: a transport may stand before it, and nothing in it has to be valid."""
_NO_REF = re.compile(r"\.\.|\A\.|\.\Z|\.lock\Z")


class Token(NamedTuple):
    """Orders all attempts at a change: the start of the workflow in microseconds, the turn in it, and the attempt.

    All three come from the server, so that no clock of a host counts.
    """

    started: int
    turn: int
    attempt: int


class ChangeStage(StrEnum):
    """A change's stage by its snapshot."""

    SUBMITTED = "submitted"
    RUNNING = "running"
    WAITING = "waiting"
    """For a rate limit; nobody holds it."""
    DONE = "done"
    STUCK = "stuck"
    STOPPED = "stopped"


class RunStep(StrEnum):
    """An attempt's last step."""

    CLONE = "clone"
    """The snapshot is on this host."""
    CLAIM = "claim"
    """The change is this host's."""
    GATE = "gate"
    """A snapshot was accepted, and its agent has not started."""
    AGENT = "agent"
    """The agent may start."""
    END = "end"
    """The run has ended, on this host only."""
    RESULT = "result"
    """The end is in the snapshot, and the result is not on its branch."""
    COMPLETION = "completion"
    """The result is on its branch, and the queue does not know it."""


_ENDS = {Status.DONE: ChangeStage.DONE, Status.STUCK: ChangeStage.STUCK, Status.STOPPED: ChangeStage.STOPPED}


class SnapshotMark(msgspec.Struct, frozen=True, kw_only=True):
    """The message of a snapshot: its owner, and the state of the change."""

    protocol: int = PROTOCOL
    change: str
    stage: ChangeStage = ChangeStage.SUBMITTED
    epoch: int = 0
    """The number of claims by hosts so far."""
    holder: str = ""
    token: Token = Token(0, 0, 0)
    iteration: int = 0
    story: str = ""
    cost_usd: float | None = None
    remote: str
    """The result's remote."""
    account: str = ""
    base: str
    """The commit from which the work started."""
    left: str = ""
    """The result's branch as it was at the submission; empty if there was none."""
    author: tuple[str, str] = ("", "")
    workspace: str = ""
    """The id of the workspace, the same on all hosts: what a plan remembers of its tree holds there."""
    inside: str = ""
    """The directory that holds the change, below the top of the repository."""
    content: str = ""
    """A digest of the change's own files as they were submitted."""
    delivered: bool = False
    """Whether the result is on its branch."""
    reason: str = ""
    exit_code: int | None = None
    retry_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether nobody is to continue, unless a person asks for it."""
        return self.stage in _ENDS.values()


class TakeOver(StrEnum):
    """A host's claim to a snapshot."""

    TAKE = "take"
    FINISHED = "finished"
    """The work has ended; only its result may be missing."""
    REFUSED = "refused"
    """A later attempt has it."""


def claim_of(mark: SnapshotMark, token: Token) -> TakeOver:
    """Decide whether an attempt may take over a change."""
    if mark.stage is ChangeStage.DONE or (mark.ended and mark.token.started == token.started):
        return TakeOver.FINISHED
    return TakeOver.TAKE if mark.token < token else TakeOver.REFUSED


def claimed(mark: SnapshotMark, token: Token, holder: str) -> SnapshotMark:
    """Return the mark of a change that a host takes over."""
    return msgspec.structs.replace(
        mark,
        stage=ChangeStage.RUNNING,
        epoch=mark.epoch + 1,
        holder=holder,
        token=token,
        reason="",
        exit_code=None,
        retry_at=None,
    )


def stage_of(status: Status, retry_at: datetime | None) -> ChangeStage:
    """Return the stage for a run with this status."""
    return ChangeStage.WAITING if retry_at is not None else _ENDS.get(status, ChangeStage.RUNNING)


def lease_left(silent_s: float, timeout_s: float) -> float:
    """Return the seconds after which a worker whose lease was last renewed this long ago must stop its child."""
    return LEASE_SHARE * timeout_s - silent_s


def holds_secret(url: str) -> bool:
    """Whether a URL has a password or a token in it: URLs go through the queue."""
    parts = _URL.match(url)
    if parts is None:
        return False
    user, _, password = unquote(parts["netloc"]).rpartition("@")[0].partition(":")
    return bool(password) or any(redacted(part) != part for part in (user, parts["rest"]))


def has_ref(change: str) -> bool:
    """Whether git takes the name of a change, which has only letters, digits and `._-`, as that of a ref."""
    return _NO_REF.search(change) is None


def ref_of(change: str) -> str:
    """Return the ref with the snapshot of a change."""
    return f"{REFS}{change}"


def repository_id(remote: str) -> str:
    """Return the name of a repository in the fleet: that of its URL, and four digits for those of the same name."""
    path = remote.rstrip("/").removesuffix("/.git").removesuffix(".git")
    name = _UNSAFE.sub("_", re.split(r"[/:]", path)[-1])[:40] or "repository"
    return f"{name}-{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:4]}"


def fleet_id(remote: str, change: str) -> str:
    """Return the id of a change in the fleet, and of its workflow."""
    return f"{repository_id(remote)}/{change}"


def is_fleet_id(name: str) -> bool:
    """Whether a name can only mean a change in the fleet."""
    return _ID.fullmatch(name) is not None


def is_account(name: str) -> bool:
    """Whether a name can be that of an account, which is part of the name of its queue."""
    return _ACCOUNT.fullmatch(name) is not None


def queue_of(account: str = "") -> str:
    """Return the queue on which workers of this version find the changes of an account."""
    return f"{_QUEUE}{PROTOCOL}{f'/{account}' if account else ''}"


def protocol_of(queue: str) -> int:
    """Return the version of the protocol of a queue; 0 for a queue of others."""
    version = queue.removeprefix(_QUEUE).partition("/")[0] if queue.startswith(_QUEUE) else ""
    return int(version) if version.isdigit() else 0
