"""Who may see the page."""

from http import HTTPStatus

import pytest

from spool.web.access import Access, url_of

OWN = "127.0.0.1:8770"


def access(address: str = "127.0.0.1", port: int = 8770) -> Access:
    return Access(address, port)


@pytest.mark.parametrize(
    ("address", "port", "host", "known"),
    [
        ("127.0.0.1", 8770, "127.0.0.1:8770", True),
        ("127.0.0.1", 8770, "LOCALHOST:8770", True),
        ("127.0.0.1", 8770, "127.0.0.1", False),
        ("127.0.0.1", 80, "127.0.0.1", True),
        ("127.0.0.1", 8770, "127.0.0.1:8771", False),
        ("127.0.0.1", 8770, "localhost.:8770", False),
        ("127.0.0.1", 8770, "192.168.1.20:8770", False),
        ("::1", 8770, "[::1]:8770", True),
        ("::1", 8770, "[::2]:8770", False),
        ("192.168.1.20", 8770, "192.168.1.20:8770", True),
        ("192.168.1.20", 8770, "localhost:8770", False),
        ("0.0.0.0", 8770, "192.168.1.20:8770", True),
        ("0.0.0.0", 8770, "[fe80::1]:8770", True),
        ("0.0.0.0", 8770, "evil.example:8770", False),
        ("0.0.0.0", 8770, "192.168.1.20.evil.example:8770", False),
        ("0.0.0.0", 8770, "192.168.1.20:1", False),
        ("0.0.0.0", 8770, "192.168.1.20:87700000", False),
        ("0.0.0.0", 8770, ":8770", False),
        ("0.0.0.0", 8770, "", False),
    ],
)
def test_a_server_answers_to_its_own_names(address: str, port: int, host: str, known: bool) -> None:
    found = access(address, port).refusal("GET", {"host": host})
    assert found == (None if known else HTTPStatus.MISDIRECTED_REQUEST)


@pytest.mark.parametrize(
    ("method", "headers", "allowed"),
    [
        ("GET", {}, True),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, True),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
        ("GET", {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, False),
        ("GET", {"origin": "null"}, False),
        ("GET", {"origin": f"http://{OWN}"}, True),
        ("POST", {}, False),
        ("POST", {"origin": f"http://{OWN}"}, True),
        ("POST", {"origin": f"https://{OWN}"}, False),
        ("POST", {"origin": "null"}, False),
        ("POST", {"sec-fetch-site": "same-origin"}, True),
        ("POST", {"sec-fetch-site": "none"}, False),
        ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, False),
        ("POST", {"origin": f"http://{OWN}", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, False),
    ],
)
def test_only_its_own_pages_post_and_load(method: str, headers: dict[str, str], allowed: bool) -> None:
    assert (access().refusal(method, {"host": OWN, **headers}) is None) == allowed


def test_the_session_counts_beside_a_cookie_that_another_server_has_set() -> None:
    made = access()
    own = made.cookie.partition(";")[0]
    for sent in (own, f"spool=evil; {own}", f"{own}; spool=evil", f"a=b;{own};c"):
        assert made.has_session({"cookie": sent})
    for sent in ("", "spool", "spool=", f"x{own}", f"{own}x", own.replace("spool", "Spool"), 'spool="\udcff'):
        assert not made.has_session({"cookie": sent})


def test_with_a_password_no_token_opens_anything() -> None:
    closed = Access("0.0.0.0", 8770, "correct horse")
    assert not closed.opens(closed.token)
    assert not closed.opens("")
    assert closed.knows("correct horse")
    assert not closed.knows("")
    assert not access().knows("")


def test_each_server_has_secrets_of_its_own() -> None:
    one, other = access(), access()
    assert len({one.token, other.token, one.base, other.base, one.cookie, other.cookie}) == 6


def test_an_address_is_written_as_a_browser_takes_it() -> None:
    assert url_of("127.0.0.1", 1) == "http://127.0.0.1:1/"
    assert url_of("::1", 1) == "http://[::1]:1/"
