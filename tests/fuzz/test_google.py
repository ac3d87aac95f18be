"""Ours against a second implementation of Google's rules: some of the decisions that `python -m tests.fuzz.google`
makes."""

import pytest

from app.policy.robots import parse
from tests.fuzz import google
from tests.fuzz.google import Rule


def test_ours_decides_as_google_does_but_for_what_rfc_9309_says_otherwise() -> None:
    found = google.run(4_000, seed=7)
    assert found["agreed"] > 3_000
    assert found["escapes"] > 50
    assert found.keys() <= {"agreed", *google.REASONS}


@pytest.mark.parametrize(
    ("pattern", "path", "google_refuses", "rfc_refuses"),
    [
        (b"/a", b"/ab", True, True),
        (b"/a*b$", b"/axb", True, True),
        (b"/a*b$", b"/axbc", False, False),
        (b"/%7Ea", b"/~a", False, True),
        (b"/?u=%2F", b"/?u=/", False, True),
        (b"/%2F", b"//", False, False),
        (b"/*%2F", b"/?/", False, True),
    ],
)
def test_the_second_implementation_itself(pattern: bytes, path: bytes, google_refuses: bool, rfc_refuses: bool) -> None:
    rules = [Rule(allow=False, pattern=pattern)]
    assert google.google(rules, path) is not google_refuses
    assert google.rfc9309(rules, path) is not rfc_refuses
    assert google.why(rules, path, not rfc_refuses) == ("agreed" if google_refuses is rfc_refuses else "escapes")
    assert google.why(rules, path, rfc_refuses) is None, "a decision that nothing explains is told"


def test_it_reads_files_as_ours_does() -> None:
    body = (
        b"User-agent: a\nUser-agent: Tiptoe\nDisallow: /x # no\n\nUser-agent: *\nDisallow: /\nuser-agent: "
        b"tiptoe\nallow: /x/y"
    )
    assert google.read(body) == [Rule(allow=False, pattern=b"/x"), Rule(allow=True, pattern=b"/x/y")]
    assert parse(body, "tiptoe").allowed("/x/y")
