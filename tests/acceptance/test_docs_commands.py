"""Every block of the docs is what it says: commands are typed in the page's order into a shell that stands in a clone.

The blocks are taken from the pages. What a block says of the world outside (hosts, folders, a database's URL) stands
for something on this machine: `STANDS_FOR`. Some run until they are ended: `RUNS_UNTIL_ENDED`. A block or example that
is neither run nor named here with a reason fails.
"""

import gzip
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import redis

from app.crawl.state.setup import make_sender, make_worker
from app.local.running import postgres_programs
from app.local.services import Services
from app.net import credentials
from app.policy.focus import profile_text
from app.store import db
from tests.acceptance.conftest import manual, until
from tests.acceptance.pages import PAGES, ROOT, Block, Shell, blocks, examples, shell
from tests.crawl.loop import make_settings, start
from tests.crawl.loop import run as loop
from tests.crawl.web import NETWORKS, Answer, Site, Web, html

pytestmark = pytest.mark.acceptance

HOSTS = ("example.org", "a.example", "b.example", "big.example")  # each a site on loopback, by TIPTOE_RESOLVE

# Text of a page → what it stands for here. {port}: of those sites; {free}: one that is free.
STANDS_FOR = {
    **{f"https://{host}": f"http://{host}:{{port}}" for host in HOSTS},
    "git clone … tiptoe": "true",  # it is there: a folder of links to this tree
    # Beside the environment of these tests, which it would change, and built from a copy: a build leaves files behind.
    "pip install ./examples/tiptoe-epub": "cp -rL examples/tiptoe-epub {folder}/epub && "
    "pip install -q --no-deps --target {folder}/plugins {folder}/epub && export PYTHONPATH={folder}/plugins",
    "make test": 'make test ARGS="tests/test_words.py"',  # this test is one of them
    "postgresql://…": "{database_url}",
    "redis://…": "{broker_url}",
    "/var/www": "{folder}/www",
    "/etc/tiptoe": "{folder}/etc",
    "--port 8080": "--port {free}",
}

# Commands that run until they are ended → what they say when they are ready.
RUNS_UNTIL_ENDED = {
    "celery -A app beat": "maxinterval ->",
    "celery -A app worker": "[queues]",
    "celery -A app flower": "Visit me at",
    "tiptoe up": "beat and workers run",
    "tiptoe web": "dashboard: http://127.0.0.1",
    "tiptoe botauth directory --serve": "Ctrl-C ends it",
}

# Commands that end with another code than 0 here.
EXIT = {
    "tiptoe robots check https://example.org/private/": 1,  # refused, which is the answer
    "tiptoe page diff https://example.org/ --json": 2,  # it was captured once
}

# What cannot be run, and why.
CANNOT = {
    "host 192.0.2.17": "asks a name server for an address that is kept for documentation",
    "host crawl-1.crawl.example.org": "the same for a name",
    "cp .env.example .env ": "for the containers alone: here it would shadow the test's own settings",
    "docker compose ": "needs a daemon: tests/acceptance/test_compose.py runs it where one is",
}

# What a reader has done who comes to a page: crawled this site as `docs`, and typed these lines.
CRAWLED = {
    "docs/changes.md": "example.org",
    "docs/commands.md": "example.org",
    "docs/export.md": "example.org",
    "docs/focus.md": "example.org",
    "docs/logs.md": "example.org",
    "docs/operating.md": "big.example",
    "docs/politeness.md": "example.org",
    "docs/rights.md": "example.org",
}
KEPT_FRESH = ["tiptoe crawl edit docs --keep-fresh", "tiptoe crawl start docs"]
BEFORE = {
    "README.md": ["cd tiptoe"],
    "docs/commands.md": ["export TIPTOE_CONTACT=you@example.org", *KEPT_FRESH],
    "docs/concepts.md": ["export TIPTOE_CONTACT=you@example.org"],
    "docs/operating.md": [*KEPT_FRESH, "tiptoe up"],
    "docs/focus.md": ["tiptoe seed add docs https://example.org/calendar/2026/"],  # what it lets through
    "docs/plugins.md": ["cd tiptoe"],
    "docs/tutorial-changes.md": ["tiptoe crawl https://example.org/ --name docs --contact you@example.org"],
}

# Commands about a page that workers have yet to fetch when a reader comes to them.
COMES_LATER = ("tiptoe page show", "tiptoe page diff")

# The language of a block → what becomes of it.
LANGUAGES = {
    "sh": "typed, below",
    "sql": "asked, below and in tests/test_docs.py",
    "python": "run by tests/net/test_adapter.py, tests/face/test_python_docs.py, tests/features/extract/test_docs.py",
    "toml": "read as the profile or the credentials file that it shows",
    "mermaid": "a drawing",
    "yaml": "a part of a configuration: tests/metrics compares it with the whole one, which it runs",
    "json": "what a program gets",
    "": "what a command printed",
}

PROGRAMS = ("tiptoe ", "celery ", "make ", "docker ", "pip ", "python ", "psql ", "$ ")

EVERY = [block for page in PAGES for block in blocks(page)]


def typed(page: str) -> list[str]:
    """What a reader of the page types, in its order."""
    return [line for block in blocks(page) if block.language == "sh" for line in block.commands] + examples(page)


def test_every_block_is_of_a_kind_that_is_tried() -> None:
    assert {f"{block.page}:{block.line}": block.language for block in EVERY if block.language not in LANGUAGES} == {}
    printed = [block for block in EVERY if not block.language]
    assert [block for block in printed if any(line.startswith(PROGRAMS) for line in block.commands)] == [], "untried"


@pytest.mark.parametrize(
    "table", [STANDS_FOR, RUNS_UNTIL_ENDED, EXIT, CANNOT], ids=["stands", "runs", "exit", "cannot"]
)
def test_every_row_of_the_tables_is_about_a_command_of_the_docs(table: dict[str, object]) -> None:
    lines = [line for page in PAGES for line in typed(page)]
    unused = [text for text in table if not any(text in line for line in lines)]
    assert unused == []


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page)])
def test_what_a_page_says_to_type(
    page: str, terminal: Shell, say: Callable[[str], str], database: str, sites: dict[str, Site]
) -> None:
    if page in CRAWLED:
        crawl(database, say(f"https://{CRAWLED[page]}/"), resolve=resolve(sites))
    for line in BEFORE.get(page, []):
        run(terminal, say(line))
    for line in typed(page):
        if not any(line.startswith(command) for command in CANNOT):
            run(terminal, say(line), code=next((EXIT[each] for each in EXIT if line.startswith(each)), 0))
    if page == "README.md":
        until(lambda: sites["example.org"].paths.count("/") == 2, "the fleet fetches the seed that it was given")


def run(terminal: Shell, line: str, *, code: int = 0) -> None:
    for command, ready in RUNS_UNTIL_ENDED.items():
        if f"{line} ".startswith(f"{command} "):
            terminal.start(line, ready)
            return
    if line.startswith(COMES_LATER):
        until(lambda: terminal.type(line)[0] == code, f"{line} ends with {code}")
        return
    got, wrote = terminal.type(line)
    assert got == code, f"{line}\n{wrote}"


def crawl(database: str, seed: str, **settings: object) -> None:
    """To its end, in this process."""
    made = make_settings(database, **settings)
    sender = make_sender(made)
    engine = db.connect(database)
    worker = make_worker(made, engine=engine, send=sender.send, where=sender.where, name="test:0")
    start(worker, seed, name="docs")
    loop(worker)
    engine.dispose()
    sender.close()


def resolve(sites: dict[str, Site]) -> str:
    return ",".join(f"{host}={site.host}" for host, site in sites.items())


def test_each_statement_of_the_docs_is_one_that_postgres_takes(database: str) -> None:
    refused, columns = {}, {}
    with psycopg.connect(database) as connection:
        for block in (block for block in EVERY if block.language == "sql"):
            for statement in filter(None, (each.strip() for each in block.text.split(";"))):
                try:
                    columns[statement] = connection.execute(statement.encode()).description
                except psycopg.Error as error:
                    refused[f"{block.page}:{block.line}"] = str(error)
                connection.rollback()
    assert refused == {}
    assert [each for each, found in columns.items() if each.startswith("SELECT") and not found] == []
    assert len(columns) > 50


@pytest.mark.parametrize("block", [block for block in EVERY if block.language == "toml"], ids=lambda block: block.page)
def test_a_file_of_the_docs_is_read(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(block.text.replace("…", "something"))
    path.chmod(0o600)
    is_profile = any(table in block.text for table in ("[[paths]]", "[render]"))
    assert profile_text.read(path.read_text()) if is_profile else credentials.load(path)


@pytest.fixture
def database(services: Services, make_database: Callable[[], str]) -> str:
    """The embedded one as a first start leaves it. Returns its URL."""
    make_database()  # and so there is a template
    server = urlsplit(services.database_url)
    with psycopg.connect(urlunsplit(server._replace(path="/postgres")), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS tiptoe WITH (FORCE)")
        connection.execute("CREATE DATABASE tiptoe TEMPLATE template STRATEGY file_copy")
    with redis.Redis.from_url(services.broker_url) as broker:
        broker.flushdb()
    return services.database_url


@pytest.fixture
def sites() -> Iterator[dict[str, Site]]:
    """{host: its site}, all on one port."""
    with Web() as web:
        first = web.site()
        found = dict(zip(HOSTS, [first, *(web.site(port=first.port) for _ in HOSTS[1:])], strict=True))
        for site in found.values():
            manual(site, 5)
            site.pages["/"] = html("/page", "/page-1.html", "/some/page", "/a?b=c", "/a", "/broken", "/private/")
            site.pages["/broken"] = Answer(status=500)
            site.pages |= {path: html("/", title=path) for path in ("/page", "/some/page", "/a?b=c", "/a")}
        yield found


@pytest.fixture
def say(database: str, services: Services, sites: dict[str, Site], tmp_path: Path) -> Callable[[str], str]:
    """A line of the docs → the line that is typed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        free = listening.getsockname()[1]
    here = {
        "port": sites[HOSTS[0]].port,
        "free": free,
        "folder": tmp_path,
        "database_url": database,
        "broker_url": services.broker_url,
    }

    def said(line: str) -> str:
        for text, stands_for in STANDS_FOR.items():
            line = line.replace(text, stands_for.format(**here))
        return line

    return said


@pytest.fixture
def terminal(services: Services, sites: dict[str, Site], tmp_path: Path) -> Iterator[Shell]:
    """Above a clone, whose embedded services run already."""
    clone = tmp_path / "tiptoe"
    clone.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in {".venv", ".env", ".git", ".tiptoe"} and not entry.name.endswith("_cache"):
            (clone / entry.name).symlink_to(entry)
    (clone / ".venv").symlink_to(sys.prefix)
    with gzip.open(tmp_path / "seeds.csv.gz", "wt") as seeds:
        seeds.write("url,added\nhttp://example.org/a,2026-11-01\n")
    env = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TIPTOE_", "PYTEST_", "MAKE", "MFLAGS", "ARGS"))
        },
        "PATH": f"{Path(sys.executable).parent}:{postgres_programs().folder}:{os.environ['PATH']}",
        "TIPTOE_HOME": str(services.home),
        "TIPTOE_WEB_LISTEN": "127.0.0.1:0",
        "TIPTOE_ALLOW_NETWORKS": NETWORKS,
        "TIPTOE_RESOLVE": resolve(sites),
        "TIPTOE_DEFAULT_DELAY_S": "0.05",
        "TIPTOE_PROCESSES": "1",
        "TIPTOE_PINNED_QUEUES": "big-site",
        **_psql(services),
    }
    with shell(tmp_path, env) as found:
        yield found


def _psql(services: Services) -> dict[str, str]:
    """A database's administrator has these set."""
    server = urlsplit(services.database_url)
    assert server.hostname
    assert server.username
    assert server.password
    return {
        "PGHOST": server.hostname,
        "PGPORT": str(server.port),
        "PGUSER": server.username,
        "PGPASSWORD": server.password,
        "PGDATABASE": "tiptoe",
    }
