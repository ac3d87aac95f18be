"""The `Link` header: RFC 8288."""

import pytest

from app.policy.header_fields import LINKS_MOST, canonical


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("", None),
        ("</a>; rel=canonical", "/a"),
        ('<https://h/a,b;c>;REL = "Shortlink Canonical"', "https://h/a,b;c"),
        ('</n>; rel=next, </a>; title="x, <y>"; rel=canonical', "/a"),
        ('</n>; title="; rel=canonical"; rel=next', None),
        ('</n>; title="a \\" ; rel=canonical"', None),
        ("</n>; rel=next; rel=canonical", None),
        ('</a>; rel=canonical; anchor="#top"', None),
        ("<>; rel=canonical", None),
        ("/a; rel=canonical", None),
        ("</a; rel=canonical", None),
        ("<" * LINKS_MOST + "</a>; rel=canonical", None),
    ],
)
def test_the_canonical_link(value: str, target: str | None) -> None:
    assert canonical(value) == target
