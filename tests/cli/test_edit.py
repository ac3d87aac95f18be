"""A crawl changed, deleted and given a second chance; and every new option, wrong in each of its arguments."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine

from app.admin import deletion
from app.config import load
from app.errors import ServiceError
from app.features.schema import schema
from tests.cli.conftest import Tiptoe
from tests.store.rows import clean, one, sql


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def docs(tiptoe: Tiptoe) -> str:
    assert tiptoe("seed", "add", "docs", "http://www.shop.test/a/b").code == 0
    return "docs"


def crawl(engine: Engine, columns: str) -> tuple[object, ...]:
    (row,) = sql(engine, f"SELECT {columns} FROM crawls")
    return tuple(row.values())


# options → columns of the crawl, and what is in them then
@pytest.mark.parametrize(
    ("args", "columns", "values"),
    [
        (["--scope", "domain"], "scope, scope_domains", ("domain", ["shop.test"])),
        (["--scope", "prefix"], "scope, scope_prefixes", ("prefix", ["http://www.shop.test/a/"])),
        (["--scope", "any"], "scope", ("any",)),
        (["--include", "/a/", "--include", "/b/"], "include, exclude", (["/a/", "/b/"], [])),
        (["--exclude", "x"], "exclude", (["x"],)),
        (["--max-pages", "7", "--max-bytes", "8"], "max_pages, max_bytes, max_depth", (7, 8, None)),
        (["--max-depth", "0", "--max-seconds", "1.5"], "max_depth, max_seconds", (0, 1.5)),
        (["--keep-fresh"], "keep_fresh", (True,)),
        (["--no-archive"], "archive", (False,)),
        (["--sitemaps", "none", "--honour-opt-outs"], "sitemaps, honour_opt_outs, keep_fresh", ("none", True, False)),
    ],
)
def test_what_can_be_changed(
    tiptoe: Tiptoe, docs: str, engine: Engine, args: list[str], columns: str, values: tuple[object, ...]
) -> None:
    before = one(engine, "SELECT revision FROM crawls")
    ran = tiptoe("crawl", "edit", docs, *args)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("docs: changed; it is active\n")
    assert crawl(engine, columns) == values
    assert one(engine, "SELECT revision FROM crawls") > before
    assert tiptoe("crawl", "edit", docs, *args, "--json").json["name"] == "docs"


def test_what_is_not_given_stays(tiptoe: Tiptoe, docs: str, engine: Engine) -> None:
    tiptoe("crawl", "edit", docs, "--max-pages", "7", "--max-depth", "2", "--keep-fresh", "--include", "/a")
    tiptoe("crawl", "edit", docs, "--max-pages", "none", "--no-include", "--exclude", "x")
    assert crawl(engine, "max_pages, max_depth, keep_fresh, include, exclude") == (None, 2, True, [], ["x"])
    tiptoe("crawl", "edit", docs, "--no-keep-fresh", "--no-exclude")
    assert crawl(engine, "max_pages, max_depth, keep_fresh, include, exclude") == (None, 2, False, [], [])


def test_a_raised_budget_wakes_hosts(tiptoe: Tiptoe, docs: str, engine: Engine) -> None:
    sql(engine, "UPDATE hosts SET next_fetch_at = NULL")
    tiptoe("crawl", "edit", docs, "--max-pages", "70")
    assert one(engine, "SELECT next_fetch_at IS NOT NULL FROM hosts") is True


@pytest.mark.parametrize("how", ["add", "import"])
def test_all_of_it_with_the_seeds(tiptoe: Tiptoe, engine: Engine, how: str) -> None:
    options = ["--scope", "domain", "--include", "/a", "--exclude", "x", "--max-pages", "7", "--max-bytes", "8"]
    options += ["--max-depth", "2", "--max-seconds", "9", "--keep-fresh"]
    seeds = ["http://a.test/a"] if how == "add" else ["-"]
    ran = tiptoe("seed", how, "new", *seeds, *options, stdin="http://a.test/a\n")
    assert (ran.code, ran.out) == (0, "new: 1 seed added, 0 known already, 0 bad lines\n")
    columns = "scope, include, exclude, max_pages, max_bytes, max_depth, max_seconds, keep_fresh"
    assert crawl(engine, columns) == ("domain", ["/a"], ["x"], 7, 8, 2, 9.0, True)
    assert tiptoe("seed", "add", "new", "http://a.test/b", "--max-pages", "70").code == 0
    assert crawl(engine, "max_pages, max_bytes, keep_fresh") == (70, 8, True)
    other = tiptoe("seed", "add", "new", "http://a.test/c", "--include", "/other")
    assert "already has the include /a; leave it out, or run: tiptoe crawl edit new" in other.err


VALUES = {int: 1, float: 1.0, str: "x", bytes: b"x", bool: True, datetime: datetime(2026, 1, 1, tzinfo=UTC)}


def fill(engine: Engine, name: str, **known: int) -> None:
    """Insert a row of a crawl that has none yet: what must have a value has one of its type."""
    if one(engine, f"SELECT count(*) FROM {name} WHERE crawl_id = :id", id=known["crawl_id"]):
        return
    checks = sql(
        engine,
        """SELECT substring(pg_get_constraintdef(oid) FROM '\\((\\w+) = ANY') AS name,
                  substring(pg_get_constraintdef(oid) FROM '''([^'']+)''') AS value
           FROM pg_constraint WHERE conrelid = CAST(:name AS regclass) AND contype = 'c'""",
        name=name,
    )
    first = {check["name"]: check["value"] for check in checks}
    row: dict[str, object] = {"body": b"x"} if name == "renders" else {}  # one that is due
    for column in schema().tables[name].columns:
        if column.name in known:
            row[column.name] = known[column.name]
        elif not column.nullable and column.server_default is None and column.identity is None:
            row[column.name] = first.get(column.name, VALUES.get(column.type.python_type, "{}"))
    columns, values = ", ".join(row), ", ".join(f":{column}" for column in row)
    sql(engine, f"INSERT INTO {name} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING", **row)
    assert one(engine, f"SELECT count(*) FROM {name} WHERE crawl_id = :id", id=known["crawl_id"]) > 0, name


def test_delete_takes_what_is_the_crawls_and_nothing_else(tiptoe: Tiptoe, docs: str, engine: Engine) -> None:
    assert tiptoe("seed", "add", "other", "http://www.shop.test/a/b", "http://b.test/").code == 0
    crawl_id = one(engine, "SELECT id FROM crawls WHERE name = 'docs'")
    host_id = one(engine, "SELECT min(host_id) FROM urls WHERE crawl_id = :id", id=crawl_id)
    sql(engine, "INSERT INTO plugins (name) VALUES ('altitude')")
    sql(engine, "CREATE TABLE plugin_altitude_peaks (host_id bigint, crawl_id bigint, key bytea)")
    kept = {"captures", "segments", "fetches"}  # the archive goes by its files; the log of requests stays
    of_crawls = [name for name, table in schema().tables.items() if "crawl_id" in table.columns and name not in kept]
    for name in of_crawls:
        fill(engine, name, crawl_id=crawl_id, host_id=host_id)
    sql(engine, "INSERT INTO plugin_altitude_peaks VALUES (:host_id, :id, '')", host_id=host_id, id=crawl_id)
    sql(
        engine,
        """INSERT INTO suppressions (crawl_id, key, reason, url)
           SELECT crawl_id, sha256(convert_to(n || 'x', 'UTF8')), 'scope', 'http://x.test/' || n
           FROM urls, generate_series(1, 30) AS n
           ON CONFLICT DO NOTHING""",
    )
    refused = tiptoe("crawl", "delete", docs)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "0 pages of this round and all its URLs will be deleted for good; add --yes" in refused.err
    ran = tiptoe("crawl", "delete", docs, "--yes")
    assert (ran.code, ran.out) == (0, "docs: deleted\n")
    for name in [*of_crawls, "plugin_altitude_peaks"]:
        assert one(engine, f"SELECT count(*) FROM {name} WHERE crawl_id = :id", id=crawl_id) == 0, name
    assert sql(engine, "SELECT name, state FROM crawls") == [{"name": "other", "state": "active"}]
    assert one(engine, "SELECT count(*) FROM urls") == one(engine, "SELECT count(*) FROM hosts") == 2
    assert tiptoe("seed", "add", docs, "http://www.shop.test/").code == 0  # the name is free again


def test_delete_waits_for_visits_that_may_have_its_urls(docs: str, engine: Engine) -> None:
    sql(
        engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now() - interval '1 second',
                  lease_until = now() + interval '1 hour', next_fetch_at = now() + interval '1 hour'""",
    )
    settings = load()
    with pytest.raises(ServiceError, match="1 visit is still at its hosts; try again in a minute"):
        deletion.delete(engine, settings, docs, patience_s=0.0)
    assert one(engine, "SELECT state FROM crawls") == "finished"
    sql(engine, "UPDATE hosts SET lease_until = now()")
    deletion.delete(engine, settings, docs)
    assert sql(engine, "SELECT FROM crawls") == []


def test_what_was_given_up_gets_a_second_chance(tiptoe: Tiptoe, docs: str, engine: Engine) -> None:
    sql(engine, "UPDATE urls SET state = 'quarantined', cause = 'x', attempts = 3")
    sql(engine, "UPDATE hosts SET next_fetch_at = NULL")
    tiptoe("crawl", "finish", docs)
    ran = tiptoe("crawl", "retry-failed", docs)
    assert (ran.code, ran.out) == (0, "docs: 1 URL queued again\n")
    assert sql(engine, "SELECT state, cause, attempts FROM urls") == [{"state": "queued", "cause": None, "attempts": 0}]
    assert crawl(engine, "state") == ("active",)
    assert one(engine, "SELECT next_fetch_at IS NOT NULL FROM hosts") is True


@pytest.mark.parametrize("host", ["shop.test", "shop.test/docs", "localhost:8000", "127.0.0.1/x", "bücher.test"])
def test_a_bare_host_name_is_a_seed(tiptoe: Tiptoe, engine: Engine, host: str) -> None:
    assert tiptoe("seed", "add", "new", host).code == 0
    assert one(engine, "SELECT url FROM urls").startswith("https://")


def test_json_of_every_verb(tiptoe: Tiptoe, docs: str) -> None:
    for verb in ("pause", "resume", "finish", "start", "edit", "delete"):
        more = {"edit": ["--max-pages", "7"], "delete": ["--yes"]}.get(verb, [])
        ran = tiptoe("crawl", verb, docs, "--json", *more)
        assert ran.code == 0, ran.err
        assert isinstance(ran.json, dict)


# command → what is wrong, and what would do
BAD_EDITS = [
    (["crawl", "edit", "docs"], "crawl docs: no change was given; see tiptoe crawl edit --help"),
    (["crawl", "edit", "nix", "--max-pages", "1"], "crawl nix: does not exist; there are: docs"),
    (["crawl", "edit", "docs", "--scope", "world"], "scope 'world': use one of: host, domain, prefix, any"),
    (["crawl", "edit", "docs", "--include", "("], "include pattern '(': not a regular expression"),
    (["crawl", "edit", "docs", "--exclude", "["], "exclude pattern '[': not a regular expression"),
    (
        ["crawl", "edit", "docs", "--include", "x", "--no-include"],
        "--include and --no-include: exclude each other; choose one",
    ),
    (
        ["crawl", "edit", "docs", "--exclude", "x", "--no-exclude"],
        "--exclude and --no-exclude: exclude each other; choose one",
    ),
    (
        ["crawl", "edit", "docs", "--max-pages", "many"],
        "--max-pages 'many': is not a limit; write a number, or none for no limit",
    ),
    (
        ["crawl", "edit", "docs", "--max-bytes", "1.5"],
        "--max-bytes '1.5': is not a limit; write a number, or none for no limit",
    ),
    (["crawl", "edit", "docs", "--max-depth", "-1"], "max_depth -1: is below 0; use 0 for the seeds alone"),
    (["crawl", "edit", "docs", "--max-pages", "0"], "max_pages 0: use a number from 1 to"),
    (["crawl", "edit", "docs", "--max-seconds", "nan"], "max_seconds nan: use a number from"),
    (["crawl", "edit", "docs", "--sitemaps", "some"], "sitemaps 'some': use one of: none, declared, all"),
    (["crawl", "edit"], "Missing argument 'NAME'; see tiptoe crawl edit --help"),
    (["crawl", "delete", "nix", "--yes"], "crawl nix: does not exist; there are: docs"),
    (
        ["crawl", "delete", "docs"],
        "crawl docs: 0 pages of this round and all its URLs will be deleted for good; add --yes",
    ),
    (["crawl", "retry-failed", "nix"], "crawl nix: does not exist; there are: docs"),
    (["crawl", "retry-failed", "docs"], "crawl docs: no URL of it was given up; tiptoe crawl report shows how"),
    (["crawl", "pasue"], "tiptoe crawl pasue: neither a verb nor a URL; did you mean `tiptoe crawl pause`? a seed"),
    (
        ["crawl", "qqq"],
        "tiptoe crawl qqq: neither a verb nor a URL; the verbs are delete, duplicates, edit, finish, freshness, list",
    ),
    (["crwl", "pause"], "No such command 'crwl'. Did you mean 'crawl'? See tiptoe --help"),
    (["crawl", "http://127.0.0.1/", "--delay", "-1"], "--delay -1: is out of range; use 0 to 86400 seconds"),
    (["crawl", "http://127.0.0.1/", "--delay", "nan"], "--delay nan: is out of range; use 0 to 86400 seconds"),
    (["crawl", "http://127.0.0.1/", "--delay", "soon"], "Invalid value for '--delay'"),
    (
        ["crawl", "http://127.0.0.1/", "--allow-network", "127/99"],
        "--allow-network '127/99': is not a network; write CIDR",
    ),
    (["--home", "/proc/nowhere", "crawl", "http://127.0.0.1/"], "TIPTOE_HOME='/proc/nowhere': cannot be written"),
    (["crawl", "http://127.0.0.1/", "--home", "/proc/nowhere"], "TIPTOE_HOME='/proc/nowhere': cannot be written"),
    (["seed", "add", "new", "http://a.test/", "--max-pages", "0"], "max_pages 0: use a number from 1 to"),
    (["seed", "add", "new", "http://a.test/", "--include", "("], "include pattern '(': not a regular expression"),
    (["seed", "add", "new", "http://a.test/", "--max-depth", "x"], "Invalid value for '--max-depth'"),
    (
        ["seed", "import", "new", "-", "--column", "link"],
        "--column 'link': is not in the first line; use one of: url",
    ),
    (["seed", "import", "new", "-", "--column", "0"], "--column '0': is not in the first line; use one of: url"),
]


@pytest.mark.parametrize(
    ("args", "err"),
    BAD_EDITS,
)
def test_bad_input_is_refused_in_one_line_with_its_remedy(
    tiptoe: Tiptoe, docs: str, engine: Engine, args: list[str], err: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "/proc/nowhere" in args:
        monkeypatch.delenv("TIPTOE_DATABASE_URL")
    before = sql(engine, "SELECT * FROM crawls")
    ran = tiptoe(*args, stdin="url,title\nhttp://a.test/,x\n")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tiptoe: {err}")
    assert ran.err.count("\n") == 1
    assert sql(engine, "SELECT * FROM crawls") == before
