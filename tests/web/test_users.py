"""Sessions and their end, by a clock of the test's own."""

import hmac
import time
from hashlib import sha256

import pytest
from starlette.datastructures import Headers

from app.policy.passwords import as_text, hashed
from app.web.users import SESSION_S, WRONG_MOST, WRONG_WITHIN_S, Users, Viewer
from tests.web.served import settings_of

PASSWORD = "correct horse battery"
SETTINGS = settings_of("postgresql://x/y", web_users=f"anna:steer:{hashed(PASSWORD, b'1' * 16)}")


class Clock:
    """Seconds since the epoch, as the test sets them."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def viewer(users: Users, session: str) -> Viewer | None:
    return users.viewer(session=session, seat="seat", client="127.0.0.1", headers=Headers({}))


def test_a_session_ends_after_its_hours() -> None:
    clock = Clock()
    users = Users(SETTINGS, clock=clock)
    session = users.login("anna", PASSWORD)
    assert session is not None
    clock.now += SESSION_S - 1
    found = viewer(users, session)
    assert found is not None
    assert (found.name, found.may_steer) == ("anna", True)
    clock.now += 2
    assert viewer(users, session) is None


def test_a_session_cannot_be_lengthened() -> None:
    users = Users(SETTINGS)
    session = users.login("anna", PASSWORD)
    assert session is not None
    other = Users(SETTINGS, clock=lambda: 9e9).login("anna", PASSWORD)
    assert other is not None
    assert viewer(users, f"{other.partition('.')[0]}.{session.partition('.')[2]}") is None


# users of the settings, all of whom a proxy logs in: names that anybody can guess
@pytest.mark.parametrize("users", ["paul:steer", "anyone:read,paul:steer"])
def test_a_session_cannot_be_made_from_names(users: str) -> None:
    made = Users(settings_of("postgresql://x/y", web_users=users, web_proxy="X-Forwarded-User=10.0.0.7/32"))
    until = f"paul\n{int(time.time()) + 60}".encode()
    key = sha256("\n".join(users.split(",")).encode()).digest()
    found = viewer(made, f"{as_text(until)}.{as_text(hmac.digest(key, until, 'sha256'))}")
    assert found is None or found.name is None


def test_a_user_without_a_password_has_no_session() -> None:
    """Not even one that another user, who knows their own hash, could sign."""
    own = f"rudi:read:{hashed(PASSWORD, b'2' * 16)}"
    users = Users(settings_of("postgresql://x/y", web_users=f"{own},paul:steer", web_proxy="X-User=10.0.0.7/32"))
    until = f"paul\n{int(time.time()) + 60}".encode()
    key = sha256(f"{own}\npaul:steer".encode()).digest()
    assert viewer(users, f"{as_text(until)}.{as_text(hmac.digest(key, until, 'sha256'))}") is None


def test_logins_are_tried_again_after_a_minute() -> None:
    clock = Clock()
    users = Users(SETTINGS, clock=clock)
    for _ in range(WRONG_MOST):
        assert not users.is_held
        assert users.login("nobody", "wrong password") is None
    assert users.is_held
    assert users.login("anna", PASSWORD) is None, "those that came at once are not tried either"
    clock.now += WRONG_WITHIN_S + 1
    assert not users.is_held
    assert users.login("anna", PASSWORD) is not None


# fields of the request, name of the viewer
PROXIED: list[tuple[list[tuple[bytes, bytes]], str | None]] = [
    ([(b"x-user", b"paul")], "paul"),
    ([(b"x-user", b"rudi"), (b"x-user", b"paul")], None),
    ([(b"x-user", b"paul"), (b"x-user", b"paul")], None),
    ([(b"x-user", b""), (b"x-user", b"paul")], None),
    ([(b"x-user", b"")], None),
    ([], None),
]


@pytest.mark.parametrize(("fields", "name"), PROXIED)
def test_two_headers_of_the_proxy_are_nobody(fields: list[tuple[bytes, bytes]], name: str | None) -> None:
    """One may be the client's own, which a proxy that appends its own passes on."""
    users = Users(settings_of("postgresql://x/y", web_users="paul:steer,rudi:read", web_proxy="X-User=10.0.0.7/32"))
    found = users.viewer(session="", seat="seat", client="10.0.0.7", headers=Headers(raw=fields))
    assert (found and found.name) == name
