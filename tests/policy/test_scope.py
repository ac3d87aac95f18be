from dataclasses import replace

import pytest

from app.errors import InputError
from app.model import Refusal, Url
from app.policy.scope import Scope, ScopeKind, judge, may_authenticate, scope_of, widened
from app.policy.url import Canon

CANON = Canon()


def url(text: str) -> Url:
    found = CANON.canonicalise(text)
    assert isinstance(found, Url)
    return found


def scope(kind: ScopeKind, *seeds: str, **rest: object) -> Scope:
    return scope_of([url(seed) for seed in seeds], kind=kind, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "seed", "link", "inside"),
    [
        (ScopeKind.HOST, "http://www.example.org/a", "http://www.example.org/b", True),
        (ScopeKind.HOST, "http://www.example.org/a", "https://www.example.org:8443/", True),
        (ScopeKind.HOST, "http://www.example.org/a", "http://example.org/", False),
        (ScopeKind.DOMAIN, "http://www.example.org/a", "http://docs.example.org/", True),
        (ScopeKind.DOMAIN, "http://www.example.org/a", "http://example.org/", True),
        (ScopeKind.DOMAIN, "http://www.example.org/a", "http://notexample.org/", False),
        (ScopeKind.DOMAIN, "http://a.co.uk/", "http://b.co.uk/", False),
        (ScopeKind.DOMAIN, "http://a.test/", "http://b.test/", False),
        (ScopeKind.DOMAIN, "http://a.test/", "http://x.a.test/", True),
        (ScopeKind.DOMAIN, "http://127.0.0.1:81/", "http://127.0.0.1:82/", True),
        (ScopeKind.DOMAIN, "http://127.0.0.1/", "http://127.0.0.2/", False),
        (ScopeKind.DOMAIN, "http://localhost/", "http://localhost/x", True),
        (ScopeKind.DOMAIN, "http://co.uk/", "http://a.co.uk/", False),
        (ScopeKind.PREFIX, "http://h/docs/a?x=/y", "http://h/docs/b", True),
        (ScopeKind.PREFIX, "http://h/docs/", "http://h/docs/b/c?d", True),
        (ScopeKind.PREFIX, "http://h/docs/", "http://h/docs", False),
        (ScopeKind.PREFIX, "http://h/docs", "http://h/anything", True),
        (ScopeKind.PREFIX, "http://h", "http://h.example/", False),
        (ScopeKind.PREFIX, "http://h/docs/", "https://h/docs/", False),
        (ScopeKind.PREFIX, "http://h/é/", "http://h/%C3%A9/x", True),  # an escape has more than one spelling
        (ScopeKind.PREFIX, "http://h/é/", "http://h/%c3%a9/x", True),
        (ScopeKind.PREFIX, "http://h/%c3%a9/", "http://h/é/x", True),
        (ScopeKind.PREFIX, "http://h/%7euser/", "http://h/~user/x", True),
        (ScopeKind.PREFIX, "http://h/~user/", "http://h/%7Euser/x", True),
        (ScopeKind.PREFIX, "http://h/a%2fb/", "http://h/a/b/x", False),
        (ScopeKind.ANY, "http://h/", "https://elsewhere.example/", True),
    ],
)
def test_ours_kinds(kind: ScopeKind, seed: str, link: str, inside: bool) -> None:
    assert judge(scope(kind, seed), url(link), 1) is (None if inside else Refusal.SCOPE)


def test_a_prefix_that_was_stored_as_it_was_typed_holds_as_before() -> None:
    old = replace(scope(ScopeKind.PREFIX), prefixes=("http://h/%c3%a9/",))
    assert judge(old, url("http://h/%c3%a9/x"), 1) is None


def test_ours_every_seed_widens_the_scope() -> None:
    both = scope(ScopeKind.HOST, "http://a.test/", "http://b.test/")
    assert [judge(both, url(f"http://{name}.test/x"), 1) for name in "abc"] == [None, None, Refusal.SCOPE]


def test_ours_no_seeds_admit_nothing_but_any() -> None:
    found = {kind: judge(scope(kind), url("http://h/"), 1) for kind in ScopeKind}
    assert found == {**dict.fromkeys(ScopeKind, Refusal.SCOPE), ScopeKind.ANY: None}


@pytest.mark.parametrize(
    ("include", "exclude", "link", "reason"),
    [
        ((), (), "/x", None),
        (("/docs/", "/api/"), (), "/v1/api/x", None),
        (("/docs/", "/api/"), (), "/blog/x", Refusal.EXCLUDED),
        ((), (r"\?page=\d{3,}",), "/list?page=99", None),
        ((), (r"\?page=\d{3,}",), "/list?page=100", Refusal.EXCLUDED),
        (("/docs/",), ("draft",), "/docs/draft", Refusal.EXCLUDED),
        (("^http://h/$",), (), "/", None),
        (("%C3%A9",), (), "/é", None),  # the canonical text is searched
        (("%C3%A9",), (), "/%c3%a9", None),  # however it was linked
        (("%c3%a9",), (), "/%c3%a9", None),
        (("/é$",), (), "/%c3%a9", None),  # and as it is read
        ((), ("/é",), "/%C3%A9t%C3%A9", Refusal.EXCLUDED),
        ((), ("~me",), "/%7Eme", Refusal.EXCLUDED),
        ((), (r"\?",), "/a%3Fb", None),  # an escaped mark is none
    ],
)
def test_ours_patterns(include: tuple[str, ...], exclude: tuple[str, ...], link: str, reason: Refusal | None) -> None:
    picked = scope(ScopeKind.HOST, "http://h/", include=include, exclude=exclude)
    assert judge(picked, url(f"http://h{link}"), 1) is reason


@pytest.mark.parametrize(
    ("link", "depth", "reason"),
    [
        # all three reasons apply at first; each row takes the first one away
        ("http://elsewhere/draft", 9, Refusal.SCOPE),
        ("http://h/draft", 9, Refusal.EXCLUDED),
        ("http://h/", 9, Refusal.DEPTH),
        ("http://h/", 3, Refusal.DEPTH),
        ("http://h/", 2, None),
        # seeds are spared all but SCOPE
        ("http://h/a.png", 0, None),
        ("http://elsewhere/", 0, Refusal.SCOPE),
        ("http://h/draft", 0, None),
    ],
)
def test_ours_order_of_reasons(link: str, depth: int, reason: Refusal | None) -> None:
    narrow = scope(ScopeKind.HOST, "http://h/", exclude=["draft"], max_depth=2)
    assert judge(narrow, url(link), depth) is reason


def test_ours_depth_limits() -> None:
    seeds_only = scope(ScopeKind.ANY, max_depth=0)
    assert [judge(seeds_only, url("http://h/"), depth) for depth in (0, 1)] == [None, Refusal.DEPTH]
    assert judge(scope(ScopeKind.ANY), url("http://h/"), 1_000_000) is None


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ({"include": ["ok", "(unclosed"]}, "include pattern '(unclosed'"),
        ({"exclude": ["*"]}, "exclude pattern '*'"),
        ({"exclude": ["a{99999999999}"]}, "exclude pattern 'a{99999999999}'"),
        ({"exclude": ["m\udcfcller"]}, "exclude pattern 'm\\udcfcller'"),
        ({"max_depth": -1}, "max_depth -1"),
    ],
)
def test_ours_bad_input_is_named(rest: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as error:
        scope(ScopeKind.HOST, "http://h/", **rest)
    assert error.value.what == told


def test_the_domain_of_a_shared_suffix_is_its_owners() -> None:
    """publicsuffix.org, private section: foo.github.io is not github.io."""
    (seed,) = (CANON.canonicalise("http://foo.github.io/"),)
    assert isinstance(seed, Url)
    scope = scope_of([seed], kind=ScopeKind.DOMAIN)
    for text, refusal in (
        ("http://foo.github.io/a", None),
        ("http://www.foo.github.io/", None),
        ("http://bar.github.io/", Refusal.SCOPE),
        ("http://github.io/", Refusal.SCOPE),
    ):
        url = CANON.canonicalise(text)
        assert isinstance(url, Url)
        assert judge(scope, url, 1) is refusal


@pytest.mark.parametrize(
    # kind, a seed, folders that redirects of seeds added, a URL, whether credentials go along
    ("kind", "seed", "added", "link", "goes"),
    [
        (ScopeKind.HOST, "http://a.test/", [], "https://a.test:8443/x", True),
        (ScopeKind.HOST, "http://a.test/", [], "http://b.test/", False),
        (ScopeKind.HOST, "http://a.example.com/", ["http://www.example.com/"], "http://www.example.com/", True),
        (ScopeKind.HOST, "http://a.test/", ["http://own.test/"], "http://own.test/logout", False),
        (ScopeKind.HOST, "http://a.test/", ["http://a.test/"], "http://a.test/", True),
        (ScopeKind.DOMAIN, "http://a.example.com/", [], "http://b.example.com/", True),
        (ScopeKind.DOMAIN, "http://a.example.com/", ["http://own.test/"], "http://own.test/", False),
        (ScopeKind.PREFIX, "http://a.test/docs/", [], "http://a.test/docs/x", True),
        (ScopeKind.PREFIX, "http://a.test/docs/", [], "http://a.test/sitemap.xml", True),
        (ScopeKind.PREFIX, "http://a.test/docs/", [], "https://a.test/docs/x", False),
        (ScopeKind.PREFIX, "http://a.test/docs/", ["http://own.test/"], "http://own.test/", False),
        (ScopeKind.PREFIX, "http://a.example.com/docs/", ["http://example.com/d/"], "http://example.com/d/", True),
        (ScopeKind.ANY, "http://a.test/", [], "http://own.test/", True),
    ],
)  # fmt: skip
def test_ours_credentials_stay_within_what_was_asked_for(
    kind: ScopeKind, seed: str, added: list[str], link: str, goes: bool
) -> None:
    assert may_authenticate(widened(scope(kind, seed), added) if added else scope(kind, seed), url(link)) is goes
