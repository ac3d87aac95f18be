"""`tiptoe doctor` reaches for the services itself: those that answer, and those that do not."""

from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Tiptoe


def grades(ran: Ran) -> dict[str, str]:
    return {check["name"]: check["grade"] for check in ran.json}


def test_in_order(tiptoe: Tiptoe, broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_BROKER_URL", broker_url)
    ran = tiptoe("doctor", "--json")
    assert ran.code == 0
    names = (
        "settings",
        "contact",
        "home",
        "broker",
        "database",
        "schema",
        "workers",
        "queues",
        "beat",
        "frontier",
        "backlog",
        "archive",
    )
    found = grades(ran)
    assert found.pop("browser") in {"ok", "warn"}  # whether there is one, and may run, is the machine's
    assert found == dict.fromkeys(names, "ok")
    assert next(check["finding"] for check in ran.json if check["name"] == "broker") == "redis answers"


def test_as_a_table(tiptoe: Tiptoe) -> None:
    said = tiptoe("doctor").out.splitlines()
    assert said[0].split() == ["check", "grade", "found", "remedy"]
    assert said[1].split() == ["settings", "ok", "valid"]


def test_an_embedded_broker_that_does_not_run_is_no_fault(tiptoe: Tiptoe) -> None:
    assert grades(tiptoe("doctor", "--json"))["broker"] == "ok"


# variable → which check fails; the others are made as far as they can be
@pytest.mark.parametrize(
    ("name", "value", "fails"),
    [
        ("TIPTOE_QUEUES", "0", {"settings"}),
        ("TIPTOE_BROKER_URL", "redis://:secret@127.0.0.1:1/0", {"broker"}),
        ("TIPTOE_BROKER_URL", "nonsense://x", {"broker"}),
        ("TIPTOE_DATABASE_URL", "postgresql://u:secret@127.0.0.1:1/x", {"database"}),
        ("TIPTOE_DATABASE_URL", "mysql://x/y", {"database"}),
        ("TIPTOE_CONTACT", "nobody", {"contact"}),
        ("TIPTOE_CHROMIUM", "/nowhere/chromium", {"browser"}),
    ],
)
def test_what_is_wrong_is_named(
    tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch, name: str, value: str, fails: set[str]
) -> None:
    monkeypatch.setenv(name, value)
    ran = tiptoe("doctor", "--json")
    assert ran.code == 1
    assert {check for check, grade in grades(ran).items() if grade == "fail"} == fails
    assert all(check["remedy"] for check in ran.json if check["grade"] == "fail")
    assert "secret" not in ran.out + ran.err


def test_a_misspelt_variable(tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_CONTCAT", "x")
    ran = tiptoe("doctor", "--json")
    assert ran.code == 0
    assert "TIPTOE_CONTCAT is not a setting" in [check["finding"] for check in ran.json]


BOOKS = """
from app.features.extract.handlers import handler

@handler(match="/books/", version=3)
def books(page):
    yield {}
"""
PRICES = BOOKS.replace("books(page)", "prices(page)").replace(", version=3", "")


# files of TIPTOE_HANDLERS → the grade of each line, words of its finding, words of its remedy
@pytest.mark.parametrize(
    ("files", "lines"),
    [
        ({}, []),
        ({"a.py": BOOKS}, [("ok", "a.py: books (version 3)", "")]),
        (
            {"a.py": BOOKS + PRICES, "b.py": "import no_such_module\n"},
            [
                ("ok", "a.py: books (version 3), prices (version 1)", ""),
                ("fail", "b.py", "does not import: ModuleNotFoundError: No module named 'no_such_module' (b.py:1)"),
            ],
        ),
        ({"a.py": "x = 1\n"}, [("fail", "a.py", "declares no handler; write @tiptoe.handler")]),
        (
            {"a.py": BOOKS, "b.py": BOOKS},
            [
                ("ok", "a.py: books", ""),
                ("ok", "b.py: books", ""),
                ("fail", "handler books", "declared twice, at "),
            ],
        ),
    ],
)
def test_handlers_are_a_line_each(
    tiptoe: Tiptoe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    lines: list[tuple[str, str, str]],
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("TIPTOE_HANDLERS", " ".join(files))
    ran = tiptoe("doctor", "--json")
    found = [check for check in ran.json if check["name"] == "handlers"]
    assert [check["grade"] for check in found] == [grade for grade, _, _ in lines]
    for check, (_, finding, remedy) in zip(found, lines, strict=True):
        assert finding in check["finding"]
        assert remedy in check["remedy"]
        assert "\n" not in check["finding"] + check["remedy"]
    assert ran.code == int("fail" in [grade for grade, _, _ in lines])


def test_a_handler_that_a_crawl_asks_for_and_nobody_declares(
    tiptoe: Tiptoe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text(BOOKS)
    monkeypatch.setenv("TIPTOE_HANDLERS", "a.py")
    assert tiptoe("seed", "add", "shop", "http://a.test/", "--handler", "books", "--handler", "gone").code == 0
    assert tiptoe("seed", "add", "all", "http://a.test/").code == 0
    found = [check for check in tiptoe("doctor", "--json").json if check["name"] == "handlers"]
    assert [(check["grade"], check["finding"].partition(",")[0]) for check in found] == [
        ("ok", "a.py: books (version 3)"),
        ("warn", "crawl shop asks for gone"),
    ]
    for crawl in ("shop", "all"):
        assert tiptoe("crawl", "delete", crawl, "--yes").code == 0
    assert len([check for check in tiptoe("doctor", "--json").json if check["name"] == "handlers"]) == 1
