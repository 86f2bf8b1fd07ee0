"""Removes secrets and paths of this machine from text that leaves it."""

import re
from collections.abc import Iterable, Mapping

HIDDEN = "[hidden]"
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
"""The names of environment variables whose values are secrets."""
_SHORTEST = 8
_SECRETS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|glpat|xox[abprs]|hf|npm|pypi)[-_][A-Za-z0-9_-]{8,}"),
    re.compile(r"\bgithub_pat_\w{20,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"),
    re.compile(r"\bAIza[\w-]{30,}"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
    re.compile(r"(?i)(?<=bearer )\S{8,}"),
    re.compile(r"(?i)(?<=basic )[A-Za-z0-9+/=]{12,}"),
    re.compile(r"""(?i)(?<![\w-])[\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d)["']?\s*[=:]\s*["']?[^\s"',;]{4,}"""),
    re.compile(r"\b(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Za-z])[A-Za-z0-9+/_]{40,}\b"),
)
_PATH = re.compile(r"(?<![\w:/.~-])/(?:[^\s/:'\"]+/)+([^\s/:'\"]+)")


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of an environment that look like secrets by their names, the longest first."""
    found = {value for name, value in environment.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
    return tuple(sorted(found, key=len, reverse=True))


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """Return text without known secrets, what looks like one, and the folders of absolute paths."""
    for secret in known:
        text = text.replace(secret, HIDDEN)
    for pattern in _SECRETS:
        text = pattern.sub(HIDDEN, text)
    return _PATH.sub(r"\1", text)
