"""A moment as a person writes it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.errors import InputError
from app.policy.moment import moment

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


# text → the moment
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        (" 2026-11-01T12:30 ", datetime(2026, 11, 1, 12, 30, tzinfo=UTC)),
        ("2026-11-01 12:30:05", datetime(2026, 11, 1, 12, 30, 5, tzinfo=UTC)),
        ("2026-11-01t12:30z", datetime(2026, 11, 1, 12, 30, tzinfo=UTC)),
        ("2026-11-01T12:30+02:00", datetime(2026, 11, 1, 12, 30, tzinfo=timezone(timedelta(hours=2)))),
        ("45m", NOW - timedelta(minutes=45)),
        ("12h", NOW - timedelta(hours=12)),
        ("7D", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("0d", NOW),
    ],
)
def test_moments(text: str, expected: datetime) -> None:
    assert moment(text, NOW, option="--since") == expected


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7y", "-7d", "2026-13-01", "1234567d", "٧d", "9" * 5_000])
def test_what_is_none_says_how_to_write_one(text: str) -> None:
    with pytest.raises(InputError, match="is not a moment; write 2026-11-01"):
        moment(text, NOW, option="--since")


@pytest.mark.parametrize("text", ["999999d", "999999w"])
def test_a_moment_before_all_time_is_the_first(text: str) -> None:
    assert moment(text, NOW, option="--since") == datetime.min.replace(tzinfo=UTC)
