"""How URLs differ that a site may show one page under."""

import pytest

from app.policy.focus.shape import differences, forms, is_shared


def beside(target: str, fetched: str) -> set[str]:
    known = forms(fetched)
    return {name for form, name in differences(target) if form in known}


# a URL, one that was fetched before → what they differ in
@pytest.mark.parametrize(
    ("target", "fetched", "named"),
    [
        ("/r/blame/d/f.c", "/r/tree/d/f.c", {"≈/w/{blame}/w/w"}),
        ("/en/3.1/x.html", "/en/latest/x.html", {"≈/w/{#}/w"}),
        ("/mirror/en/x", "/en/x", {"≈/[mirror]/w/w"}),
        ("/album/3/photo/512", "/photo/512", {"≈/[album/#]/w/#"}),
        ("/recipe/17/print", "/recipe/17", {"≈/w/#/[print]"}),
        ("/x?id=5&cat=2", "/x?id=5&cat=1", {"≈?cat", "≈?cat&id"}),
        ("/x?cat=2&id=5", "/x?id=5", {"≈?cat"}),
        ("/x?pos=1&src=list", "/x", {"≈?pos&src"}),
        ("/r/diff?id=5", "/r/commit?id=5", {"≈/w/{diff}?id"}),
        ("/r/diff?id=5", "/r/diff?id=6", {"≈?id"}),
        ("/job/7?ref=list", "/job/8?ref=list", set()),  # a number names a page,
        ("/x?ref=list", "/x", {"≈?ref"}),
        ("/x?pos=1&src=list", "/x?pos=2&src=like", {"≈?pos&src"}),
        ("/docs/x.md", "/docs/x", {"≈/w/w[.md]"}),
        ("/docs/x.TXT", "/docs/x", {"≈/w/w[.txt]"}),
        ("/docs/x.txt", "/docs/x.html", set()),  # each page would have this difference
        ("/x.md?v=2", "/x?v=2", {"≈/w[.md]"}),
        ("/picture.php?/512/album/3", "/picture.php?/512", {"≈/w/#/[album/#]"}),
        ("/picture.php?/512&slideshow=", "/picture.php?/512", {"≈?slideshow"}),
        ("/en/v3.1b/x.html", "/en/latest/x.html", {"≈/w/{v#b}/w"}),  # versions, one like the other
        ("/docs/x", "/docs/x.md", set()),
        ("/v1.2", "/v1", set()),  # a number is no ending
        ("/photo/512", "/photo/513", set()),  # the last word names the page
        ("/x?id=5", "/y?id=5", set()),
        ("/x", "/x/print", set()),  # the shorter one is no copy of the longer one
        ("/a/b/x", "/c/d/x", set()),
        ("/", "/x", set()),
        ("/" + "a/" * 9 + "print", "/" + "a/" * 9, set()),  # too deep to be compared
    ],
)
def test_ours_what_siblings_differ_in(target: str, fetched: str, named: set[str]) -> None:
    assert beside(target, fetched) == named


# a difference, the URL that has it, another URL → whether it has the same
@pytest.mark.parametrize(
    ("name", "target", "other", "is_same"),
    [
        ("≈/w/{#}/w", "/en/3.1/x.html", "/en/3.1/y.html", True),  # a copy's links lead to copies
        ("≈/w/{#}/w", "/en/3.1/x.html", "/en/3.1/a/b.html", True),
        ("≈/w/{#}/w", "/en/3.1/x.html", "/en/latest/y.html", False),
        ("≈/w/{#}/w", "/en/3.1/x.html", "/en", False),
        ("≈/[mirror]/w/w", "/mirror/en/x", "/mirror/en/y", True),
        ("≈/w/#/[print]", "/recipe/17/print", "/recipe/18", False),
        ("≈/w/{diff}?id", "/r/diff?id=5", "/r/diff?id=6", True),
        ("≈/w/{diff}?id", "/r/diff?id=5", "/r/commit?id=6", False),
        ("≈/w/w[.md]", "/docs/x.md", "/docs/y.md", True),
        ("≈/w/w[.md]", "/docs/x.md", "/docs/y.html", False),
        ("≈?lang", "/x?lang=de", "/y?lang=de", False),  # a list's pages may have its parameter
    ],
)
def test_ours_a_difference_that_another_url_shares(name: str, target: str, other: str, is_same: bool) -> None:
    assert is_shared(name, target, other) is is_same
