"""Decides who may see the page, by Host and Origin, the token of the address, the password and the session."""

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from http import HTTPStatus

_SAFE = ("GET", "HEAD")
_HTTP = 80
_COOKIE = "spool"


class Access:
    """The secrets of one server, and the names by which it may be called. All of them end with the process."""

    def __init__(self, address: str, port: int, password: str = "") -> None:
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        # A browser sends a cookie to every port of a host. One that is limited to a folder with a name that nobody
        # can guess does not reach another server here, for example that of another user.
        self.base = f"/{secrets.token_hex(8)}/"
        self._password = password
        self._hosts = allowed_hosts(address, port)
        self._any_address = port if ipaddress.ip_address(address).is_unspecified else None

    @property
    def needs_password(self) -> bool:
        """Whether a password opens the page, instead of the token."""
        return bool(self._password)

    @property
    def cookie(self) -> str:
        """The value of the header that opens the session."""
        return f"{_COOKIE}={self._session}; Path={self.base}; HttpOnly; SameSite=Strict"

    def refusal(self, method: str, headers: Mapping[str, str]) -> HTTPStatus | None:
        """Return why a request is refused whoever sent it: by another name, or by another site's page."""
        host = headers.get("host", "").lower()
        if not self._is_ours(host):
            return HTTPStatus.MISDIRECTED_REQUEST
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin.lower() != f"http://{host}":
            return HTTPStatus.FORBIDDEN
        if method not in _SAFE and origin is None and site != "same-origin":
            return HTTPStatus.FORBIDDEN
        loaded = headers.get("sec-fetch-mode", "navigate") != "navigate"
        return HTTPStatus.FORBIDDEN if site in ("cross-site", "same-site") and (loaded or method not in _SAFE) else None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this server; a page that rebinds its DNS name has its own name there."""
        if host in self._hosts:
            return True
        if self._any_address is None:
            return False
        name, port = _split(host)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return port == self._any_address

    def has_session(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has the session's cookie."""
        # Another server on this host can set a cookie of the same name, which the browser sends beside ours.
        sent = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return any(name == _COOKIE and _same(value, self._session) for name, _, value in sent)

    def opens(self, token: str) -> bool:
        """Whether a token is the one of the printed address; never if a password is asked for."""
        return not self._password and _same(token, self.token)

    def knows(self, password: str) -> bool:
        """Whether a password is right."""
        return bool(self._password) and _same(password, self._password)


def allowed_hosts(address: str, port: int) -> frozenset[str]:
    """Return the Host headers that mean a server at this address."""
    ip = ipaddress.ip_address(address)
    names = {_bracketed(address)}
    if ip.is_loopback:
        names |= {"localhost"}
    if ip.is_unspecified:
        own = socket.gethostname().lower()
        names |= {"localhost", own, f"{own.partition('.')[0]}.local"}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == _HTTP else set()))


def url_of(address: str, port: int) -> str:
    """Return the address of the server as a browser takes it."""
    ip = ipaddress.ip_address(address)
    return f"http://{socket.gethostname() if ip.is_unspecified else _bracketed(address)}:{port}/"


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address."""
    return ipaddress.ip_address(address).is_loopback


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _split(host: str) -> tuple[str, int]:
    name, _, port = host.rpartition(":")
    if not name or not port.isascii() or not port.isdigit():
        return host.strip("[]"), _HTTP
    return name.removeprefix("[").removesuffix("]"), int(port[:5])


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), known.encode("utf-8", "surrogateescape"))
