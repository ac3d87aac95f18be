"""A plugin's tables: its rows are written after ours, and what it does wrong costs nothing but them."""

import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from sqlalchemy import Engine

from app import plugins
from app.admin import crawls, deletion, plugin_list
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.features.tables import rows
from app.store import db
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.store.rows import one, sql, url

TYPE = "application/x-lines"
NAME = "lines-of"  # a hyphen stands as _ in its tables' names
TABLE = "plugin_lines_of_said"
SOURCE = """
from tiptoe.plugins import Reader, Table, answers

OF = "(host_id bigint, crawl_id bigint, key bytea, n integer, url text, said text, number text)"

@answers
def readers():
    return [Reader(media_types=["application/x-lines"], read="lines_of:read", columns={"lines": "integer"})]

@answers
def tables():
    return [Table(
        name="plugin_lines_of_said",
        create=[
            "CREATE TABLE IF NOT EXISTS plugin_lines_of_said (host_id bigint, crawl_id bigint, key bytea, n integer,"
            " url text, said text, number integer, PRIMARY KEY (host_id, crawl_id, key, n))",
            "CREATE INDEX IF NOT EXISTS plugin_lines_of_said_n ON plugin_lines_of_said (n)",
        ],
        write=[
            "DELETE FROM plugin_lines_of_said AS c USING json_to_recordset(CAST(:pages AS json)) AS p "
            "(host_id bigint, crawl_id bigint, key bytea) "
            "WHERE (c.host_id, c.crawl_id, c.key) = (p.host_id, p.crawl_id, p.key)",
            "INSERT INTO plugin_lines_of_said SELECT r.host_id, r.crawl_id, r.key, r.n, r.url, r.said, "
            "CASE WHEN r.said = 'slow' THEN length(CAST(pg_sleep(60) AS text)) ELSE CAST(r.number AS integer) END "
            f"FROM json_to_recordset(CAST(:rows AS json)) AS r {OF}",
        ],
    )]

def read(body, content_type):
    said = body.decode().split()
    table = "plugin_lines_of_other" if "elsewhere" in said else "plugin_lines_of_said"
    rows = [{"n": n, "said": each, "number": "x" if each == "bad" else str(n)} for n, each in enumerate(said)]
    if "many" in said:
        rows = rows * 10_000
    if "nonsense" in said:
        rows = said
    return {"text": body.decode(), "lines": len(said), "rows": {table: rows}}
"""


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The plugin, installed under a name of its own, here and in the processes that read."""
    (tmp_path / "lines_of.py").write_text(SOURCE)
    about = tmp_path / "lines_of-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lines-of\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[tiptoe]\n{NAME} = lines_of\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    plugins.strangers.cache_clear()
    importlib.invalidate_caches()
    yield NAME
    plugins.strangers.cache_clear()


@pytest.fixture
def made(named: str, engine: Engine) -> Iterator[str]:
    """The plugin, with its tables."""
    assert rows.upgrade(engine, plugins.strangers((named,))) == []
    yield named
    sql(engine, f"DROP TABLE IF EXISTS {TABLE}")
    sql(engine, "DELETE FROM plugins")


def lines(words: str) -> Answer:
    return Answer(body=words.encode(), headers={"Content-Type": TYPE})


def crawl(worker: Worker, web: Web, **files: str) -> Site:
    site = web.site()
    site.pages |= {"/": html(*(f"/{name}" for name in files))}
    site.pages |= {f"/{name}": lines(words) for name, words in files.items()}
    start(worker, site.url())
    run(worker)
    return site


def said(engine: Engine) -> list[str]:
    return [row["said"] for row in sql(engine, f"SELECT said FROM {TABLE} ORDER BY url, n")]


def state(engine: Engine) -> tuple[int, bool]:
    (found,) = sql(engine, "SELECT failures, off_at IS NOT NULL AS off FROM plugins")
    return found["failures"], found["off"]


def test_rows_are_written_with_the_page_that_they_are_of(make: Callable[..., Worker], web: Web, made: str) -> None:
    worker = make(plugins=made)
    site = crawl(worker, web, a="one two", b="three")
    assert said(worker.engine) == ["one", "two", "three"]
    of_pages = f"SELECT p.url FROM {TABLE} AS t JOIN pages AS p USING (host_id, crawl_id, key) WHERE t.url = p.url"
    assert sorted(row["url"] for row in sql(worker.engine, of_pages)) == [site.url(f"/{name}") for name in "aab"]
    assert one(worker.engine, "SELECT count(*) FROM pages WHERE data -> 'lines-of' ->> 'lines' IS NOT NULL") == 2


def test_a_page_that_is_read_anew_has_the_rows_of_now_and_one_that_must_not_be_kept_none(
    make: Callable[..., Worker], web: Web, made: str
) -> None:
    worker, site = make(plugins=made), web.site()
    kept_out = Answer(body=b"private", headers={"Content-Type": TYPE, "X-Robots-Tag": "noarchive"})
    site.pages |= {"/": html("/a", "/private"), "/a": lines("one two"), "/private": kept_out}
    start(worker, site.url())
    run(worker)
    assert said(worker.engine) == ["one", "two"]
    page = sql(worker.engine, f"SELECT DISTINCT host_id, crawl_id, key, url FROM {TABLE}")[0]
    found = plugins.strangers((made,))
    for tables, left in (({TABLE: [{"n": 0, "said": "now"}]}, ["now"]), ({}, [])):
        with db.transaction(worker.engine) as tx:
            row = rows.PageRows(plugin=made, tables=tables, **page)  # type: ignore[typeddict-item]  # of its columns
            assert rows.write(tx, [row], found) == []
        assert said(worker.engine) == left


@pytest.mark.parametrize("tag", ["noarchive", "noindex"])
def test_a_304_that_withdraws_a_page_withdraws_its_rows(
    make: Callable[..., Worker], web: Web, made: str, tag: str
) -> None:
    worker, site = make(plugins=made), web.site()

    def page(hit: Hit) -> Answer:
        if hit.headers["If-None-Match"] == '"1"':
            return Answer(status=304, headers={"ETag": '"1"', "X-Robots-Tag": tag})
        return Answer(body=b"one two", headers={"Content-Type": TYPE, "ETag": '"1"'})

    site.pages |= {"/": page, "/other": html("/")}
    start(worker, site.url(), site.url("/other"))
    run(worker)
    assert said(worker.engine) == ["one", "two"]
    crawls.go_round(worker.engine, "c")
    run(worker)
    assert said(worker.engine) == []


def test_values_that_are_refused_cost_the_rows_of_their_page(make: Callable[..., Worker], web: Web, made: str) -> None:
    worker = make(plugins=made, settle_s=60.0)
    with structlog.testing.capture_logs() as log:
        site = crawl(worker, web, a="one", b="two bad", c="nul\0 \ud83d".encode("utf-8", "replace").decode())
    assert said(worker.engine)[0] == "one"
    assert "bad" not in said(worker.engine)
    assert "two" not in said(worker.engine)
    assert url(worker.engine, site.url("/b"))["cause"] is None
    assert one(worker.engine, "SELECT count(*) FROM pages") == 4
    assert [line["pages"] for line in log if line["event"] == "plugin.rows_lost"] == [1]
    assert state(worker.engine) == (0, False)


def test_a_statement_that_takes_too_long_is_ended_and_the_pages_stay(
    make: Callable[..., Worker], web: Web, made: str
) -> None:
    worker = make(plugins=made)
    with structlog.testing.capture_logs() as log:
        crawl(worker, web, a="slow")
    assert said(worker.engine) == []
    assert one(worker.engine, "SELECT count(*) FROM pages") == 2
    (why,) = [line["why"] for line in log if line["event"] == "plugin.rows_lost"]
    assert why == "took more than 1 s"
    assert state(worker.engine) == (1, False)


# what its reader does wrong, and what the URL's detail says
@pytest.mark.parametrize(
    ("words", "why"), [("many many", "more than 256,000 characters of rows"), ("nonsense", "rows that are no dicts")]
)
def test_rows_that_cannot_be_taken_end_their_url(
    make: Callable[..., Worker], web: Web, made: str, words: str, why: str
) -> None:
    worker = make(plugins=made)
    site = crawl(worker, web, a=words, b="fine")
    row = url(worker.engine, site.url("/a"))
    assert (row["state"], row["cause"]) == ("quarantined", "cannot be read")
    assert why in row["detail"]
    assert said(worker.engine) == ["fine"]


def test_one_that_fails_three_times_in_a_row_is_off_for_all_until_it_is_put_on(
    make: Callable[..., Worker], web: Web, made: str
) -> None:
    worker, other = make(plugins=made), make(plugins=made)
    with structlog.testing.capture_logs() as log:
        for n in range(rows.FAILURES_MOST):
            assert [line["event"] for line in log if line["event"] == "plugin.off"] == []
            settle(worker, web, n, "elsewhere")
    assert [line["plugin"] for line in log if line["event"] == "plugin.off"] == [made]
    assert state(worker.engine) == (3, True)
    settle(other, web, 4, "unheard")
    assert said(worker.engine) == []
    (warned,) = plugin_list.warnings(worker.engine, (made,))
    assert "declares no table plugin_lines_of_other" in warned
    assert f"tiptoe plugins --on {made}" in warned
    plugin_list.put_on(worker.engine, (made,), made)
    settle(other, web, 5, "heard")
    assert said(worker.engine) == ["heard"]
    assert state(worker.engine) == (0, False)


def settle(worker: Worker, web: Web, n: int, words: str) -> None:
    """Crawl one document of the plugin's, in a crawl of its own."""
    site = web.site()
    site.pages |= {"/": lines(words)}
    start(worker, site.url(), name=f"c{n}")
    run(worker)


def test_failures_that_are_not_in_a_row_do_not_switch_it_off(make: Callable[..., Worker], web: Web, made: str) -> None:
    worker = make(plugins=made)
    for n, words in enumerate(("bad", "bad", "good", "bad", "bad", "good")):
        settle(worker, web, n, words)
    assert said(worker.engine) == ["good", "good"]
    assert state(worker.engine) == (0, False)


def test_without_its_tables_the_crawl_goes_on(make: Callable[..., Worker], web: Web, named: str) -> None:
    worker = make(plugins=named)
    with structlog.testing.capture_logs() as log:
        crawl(worker, web, a="one")
    assert one(worker.engine, "SELECT count(*) FROM pages") == 2
    (why,) = [line["why"] for line in log if line["event"] == "plugin.rows_lost"]
    assert f'relation "{TABLE}" does not exist' in why
    sql(worker.engine, "DELETE FROM plugins")


def test_one_that_is_removed_leaves_its_tables_and_a_line_says_so(
    make: Callable[..., Worker], web: Web, made: str
) -> None:
    worker = make()
    site = crawl(worker, web, a="one")
    assert url(worker.engine, site.url("/a"))["outcome"] == "unwanted"
    (line,) = plugin_list.warnings(worker.engine, ())
    assert line == f"plugin {made}: is not in TIPTOE_PLUGINS, and its tables are here: {TABLE}; name it, or drop them"
    (row,) = [row for row in plugin_list.listed((), plugin_list.states(worker.engine)) if row["of"] == "plugin"]
    assert (row["state"], row["tables"]) == ("not loaded", [TABLE])
    (check,) = plugin_list.checks(worker.settings, plugin_list.states(worker.engine))
    assert (check.grade, check.remedy) == ("warn", "name it, or drop them")
    with pytest.raises(InputError, match="neither loaded nor known"):
        plugin_list.put_on(worker.engine, (), "nobody")


def test_tables_are_made_anew_without_harm(made: str, engine: Engine) -> None:
    found = plugins.strangers((made,))
    sql(engine, f"INSERT INTO {TABLE} VALUES (1, 1, '\\x00', 1)")
    assert rows.upgrade(engine, found) == []
    assert one(engine, f"SELECT count(*) FROM {TABLE}") == 1


def test_a_crawl_that_is_deleted_takes_its_rows_along(make: Callable[..., Worker], web: Web, made: str) -> None:
    worker = make(plugins=made)
    for n, words in enumerate(("deleted", "kept")):
        settle(worker, web, n, words)
    deletion.delete(worker.engine, worker.settings, "c0", patience_s=0.0)
    assert said(worker.engine) == ["kept"]
    deletion.delete(worker.engine, worker.settings, "c1", patience_s=0.0)
    assert said(worker.engine) == []


# a statement of `create` and one of `write`; what is said of them
@pytest.mark.parametrize(
    ("name", "create", "write", "why"),
    [
        ("plugin_other_t", "", "", "has no name that begins with plugin_declares_"),
        ("pages", "", "", "has no name that begins with plugin_declares_"),
        ("plugin_declares_t", "CREATE TABLE plugin_declares_t (n integer)", "", "of no form that there is"),
        ("plugin_declares_t", "DROP TABLE pages", "", "of no form that there is"),
        ("plugin_declares_t", "", "DELETE FROM pages", "of no form that there is"),
        ("plugin_declares_t", "", "DELETE FROM plugin_declares_tt", "of no form that there is"),
        ("plugin_declares_t", "", "DELETE FROM plugin_declares_t; DROP TABLE pages", "several statements in one"),
    ],
)
def test_a_plugin_whose_tables_are_not_its_own_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, create: str, write: str, why: str
) -> None:
    (tmp_path / "declares.py").write_text(
        "from tiptoe.plugins import Table, answers\n@answers\ndef tables():\n"
        f"    return [Table(name={name!r}, create={[create] if create else []}, write={[write] if write else []})]"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "declares", raising=False)
    plugins.strangers.cache_clear()
    (found,) = plugins.strangers(("declares",))
    assert why in str(found.problem)


def test_a_table_that_cannot_be_made_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    (tmp_path / "mistaken.py").write_text(
        "from tiptoe.plugins import Table, answers\n@answers\ndef tables():\n"
        "    return [Table(name='plugin_mistaken_t', create=["
        "'CREATE TABLE IF NOT EXISTS plugin_mistaken_t (n nosuchtype)'], write=[])]"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (line,) = rows.upgrade(engine, plugins.strangers(("mistaken",)))
    assert line.startswith('plugin mistaken: its tables cannot be made: type "nosuchtype" does not exist')
    sql(engine, "DELETE FROM plugins")
