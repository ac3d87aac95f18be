"""The `Link` header: RFC 8288."""

from time import process_time

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
        ('</n>; title="x, </a>; rel=canonical', None),  # appendix B.4: without an end it goes to the field's
        ('</a>; rel=canonical; title="x, </n>; rel=next', "/a"),
        ("<https://h/ж?ж>; rel=canonical".encode().decode("latin-1"), "https://h/%D0%B6?%D0%B6"),
        ("</\xfc b%20>; rel=canonical", "/%FC b%20"),
        ('<>\\"' * (LINKS_MOST // 4), None),  # each quote would be looked at to the end: 0.8 s
    ],
)
def test_the_canonical_link(value: str, target: str | None) -> None:
    began_s = process_time()
    assert canonical(value) == target
    assert process_time() - began_s < 0.1
