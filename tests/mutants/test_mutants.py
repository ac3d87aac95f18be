"""The mutation run itself: what it changes, which tests it calls, what it makes of their ends."""

import ast
from pathlib import Path

import pytest

from tests.mutants import cover, known, mutant, trial
from tests.mutants.__main__ import draw
from tests.mutants.mutant import ROOT, Mutant, of_file
from tests.mutants.trial import Copy, Fate, NoVerdict

LONG_S = 120.0


def changed(path: str, source: str) -> list[str]:
    """What becomes of the source."""
    return [each.cut.apply(source) for each in of_file(path, source)]


def body(line: str) -> str:
    return f"def f(a, b, c):\n    {line}\n"


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("return a < b", ["return a <= b"]),
        ("return a is not b", ["return a is b"]),
        ("return a < b == c", ["return a < b != c", "return a <= b == c"]),
        ("return a + b", ["return a - b"]),
        ("return f'{a + b}' + a", []),
        ("return max(a, b) * c", ["return (a) * c", "return (b) * c"]),
        ("return max(a)", []),
        ("return max(*a, *b)", []),
        ("a.b = c", ["pass"]),
        ("a = c", []),
        ("a += c", ["pass"]),
        ("a(b)", ["pass"]),
        ("_log.info(a - b)", []),
        ("raise a", ["pass"]),
        ("return 'ä' if a > b else c", ["return 'ä' if a >= b else c"]),
        ("a: bool = b == c", ["a: bool = b != c"]),
        ("assert a == b", []),
    ],
)
def test_what_python_becomes(line: str, becomes: list[str]) -> None:
    assert changed("x.py", body(line)) == [body(each) for each in becomes]


def test_what_runs_at_import_is_left_alone() -> None:
    assert changed("x.py", "A = 1 + 2\nprint(A)\n\n\nclass C:\n    b = A > 1\n") == []


@pytest.mark.parametrize(
    ("query", "becomes"),
    [
        ("SELECT a FROM t ORDER BY a, b LIMIT 1", ["SELECT a FROM t  LIMIT 1"]),
        ("SELECT array_agg(a ORDER BY a) FROM t", ["SELECT array_agg(a ) FROM t"]),
        (
            "SELECT a FROM t ORDER BY a FOR NO KEY UPDATE OF t",
            ["SELECT a FROM t  FOR NO KEY UPDATE OF t", "SELECT a FROM t ORDER BY a "],
        ),
        ("SELECT a FROM t FOR UPDATE SKIP LOCKED", ["SELECT a FROM t "]),
        (
            "DELETE FROM t WHERE a = 1 AND (b OR c) RETURNING a",
            ["DELETE FROM t WHERE  (b OR c) RETURNING a", "DELETE FROM t WHERE a = 1  RETURNING a"],
        ),
        ("SELECT CASE WHEN a AND b THEN c END FROM t", ["SELECT CASE WHEN a  THEN c END FROM t"]),
        ("SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND b", ["SELECT a FROM t WHERE a BETWEEN 1 AND 2 "]),
        ("SELECT greatest(a, f(b, c)) FROM t", ["SELECT (a) FROM t"]),
        ("SELECT least(f(b, c), a) FROM t", ["SELECT (f(b, c)) FROM t"]),
        ("SELECT 'ORDER BY a' -- AND so on\nFROM t", []),
    ],
)
def test_what_sql_becomes(query: str, becomes: list[str]) -> None:
    rest = "\n\n-- other: ORDER BY nothing\nSELECT 1\n"
    assert changed("x.sql", f"-- q: it\n{query}{rest}") == [f"-- q: it\n{each}{rest}" for each in becomes]


def test_a_mutant_has_the_same_name_wherever_it_stands() -> None:
    source = "def f(a, b):\n    if a < b:\n        return a < b\n"
    names = [each.name for each in of_file("x.py", source)]
    assert names == ["x.py f: a < b → a <= b", "x.py f: a < b → a <= b (2)"]
    assert [each.name for each in of_file("x.py", f"\n\n{source}")] == names


@pytest.fixture(scope="module")
def tree_mutants() -> list[Mutant]:
    return mutant.of_tree()


def test_every_mutant_of_the_tree_is_another_source_with_a_name_of_its_own(tree_mutants: list[Mutant]) -> None:
    assert {"/".join(each.path.split("/")[:2]) for each in tree_mutants} == {*mutant.ROOMS, "app/features"}
    assert len({each.name for each in tree_mutants}) == len(tree_mutants)
    sources = {path: (ROOT / path).read_text() for path in {each.path for each in tree_mutants}}
    for each in tree_mutants[::20]:
        becomes = each.cut.apply(sources[each.path])
        assert becomes != sources[each.path]
        if each.path.endswith(".py"):
            ast.parse(becomes)


def test_changes_that_once_broke_a_promise_unseen_are_among_them(tree_mutants: list[Mutant]) -> None:
    assert {each.name for each in tree_mutants} > {
        "app/store/hosts.sql lock_leased: ORDER BY h.id → nothing",
        "app/crawl/robots/ask.py _send_in_a_slot: min(slot.not_after or latest, latest) → (slot.not_after or latest)",
        "app/crawl/state/turn.py Turn.adapt: self.ready_at += max(host.delay_s - before, 0.0) → pass",
    }


def test_a_seed_draws_the_same_again(tree_mutants: list[Mutant]) -> None:
    drawn = draw(tree_mutants, ["app/policy"], 7, 5)
    assert drawn == draw(tree_mutants, ["app/policy"], 7, 5)
    assert drawn != draw(tree_mutants, ["app/policy"], 8, 5)
    assert len(drawn) == 5
    assert all(each.path.startswith("app/policy/") for each in drawn)


def test_known_survivors_are_there_and_explained(tree_mutants: list[Mutant]) -> None:
    names = {each.name for each in tree_mutants}
    for name, reason in known.reasons().items():
        assert name in names, "the source has changed: take it out of known.toml"
        assert len(reason.split()) > 4, name


def test_every_file_has_tests_that_can_notice(tree_mutants: list[Mutant]) -> None:
    tests = {path: cover.tests_of(path, "") for path in {each.path for each in tree_mutants}}
    assert [path for path, found in tests.items() if not found] == []


@pytest.mark.parametrize(
    ("path", "within", "first"),
    [
        ("app/policy/pace.py", "", "tests/policy/test_pace.py"),
        ("app/store/crawls.sql", "reserve", "tests/store/test_crawls.py"),
        ("app/store/visits.sql", "audit", "tests/admin/test_audit.py"),
    ],
)
def test_the_closest_test_comes_first(path: str, within: str, first: str) -> None:
    assert cover.tests_of(path, within)[0] == first


# --- a trial ----------------------------------------------------------------------------------------------------

SOURCE = "def larger(a, b):\n    return max(a, b)\n"
TEST = "from mod import larger\n\n\ndef test_it():\n    assert larger(1, {b}) == {b}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "mod.py").write_text(SOURCE)
    (tmp_path / "test_mod.py").write_text(TEST.format(b=2))
    return tmp_path


def first_of(tree: Path) -> Mutant:
    """The larger of two is the first."""
    return of_file("mod.py", (tree / "mod.py").read_text())[0]


def test_a_mutant_that_a_test_notices_is_killed_and_the_tree_is_as_it_was(tree: Path) -> None:
    with trial.copied(0, tree) as copy:
        copy.check(["test_mod.py"], LONG_S)
        verdict = copy.judge(first_of(tree), ["test_mod.py"], LONG_S)
        assert (copy.root / "mod.py").read_text() == SOURCE
    assert (verdict.fate, verdict.by) == (Fate.KILLED, "test_mod.py::test_it")
    assert (tree / "mod.py").read_text() == SOURCE


def test_a_mutant_that_no_test_notices_survives(tree: Path) -> None:
    (tree / "test_mod.py").write_text(TEST.format(b=1))
    assert Copy(root=tree, seed=0).judge(first_of(tree), ["test_mod.py"], LONG_S).fate is Fate.SURVIVED


def test_a_mutant_that_never_ends_times_out(tree: Path) -> None:
    (tree / "test_mod.py").write_text("import threading\n\n\ndef test_it():\n    threading.Event().wait()\n")
    assert Copy(root=tree, seed=0).judge(first_of(tree), ["test_mod.py"], 0.5).fate is Fate.TIMED_OUT


@pytest.mark.parametrize("tests", [["test_mod.py"], ["nowhere.py"]])
def test_tests_that_fail_without_a_mutant_judge_none(tree: Path, tests: list[str]) -> None:
    (tree / "test_mod.py").write_text(TEST.format(b=0))
    with pytest.raises(NoVerdict):
        Copy(root=tree, seed=0).check(tests, LONG_S)
