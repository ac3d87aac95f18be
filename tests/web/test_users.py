"""Sessions and their end, by a clock of the test's own."""

from app.policy.passwords import hashed
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
    return users.viewer(session=session, seat="seat", client="127.0.0.1", headers={})


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


def test_logins_are_tried_again_after_a_minute() -> None:
    clock = Clock()
    users = Users(SETTINGS, clock=clock)
    for _ in range(WRONG_MOST):
        assert not users.is_held
        assert users.login("nobody", "wrong password") is None
    assert users.is_held
    clock.now += WRONG_WITHIN_S + 1
    assert not users.is_held
    assert users.login("anna", PASSWORD) is not None
