"""A stranger's plugin from a wheel of its own: what it reads, and what it costs where it fails."""

import importlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from app import plugins
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.features.export.export import export_rows
from app.features.export.plan import ExportWish
from app.features.tables import rows
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import sql, url
from tests.web.served import served, settings_of

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/tiptoe-epub"
TYPE = "application/epub+zip"
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>A book</dc:title><dc:creator>A. Author</dc:creator><dc:language>en</dc:language></metadata>"
    '<manifest><item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/></manifest>'
    '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
)
AT_FAULT = """
import os, time
from tiptoe.plugins import Reader, answers

@answers
def readers():
    return [Reader(media_types=["application/x-faulty"], read="faulty:read", columns={"size": "integer"})]

def read(body, content_type):
    if body == b"raises":
        raise KeyError("a bug")
    if body == b"hangs":
        while True:
            pass
    if body == b"dies":
        os.abort()
    if body == b"nonsense":
        return 7
    if body == b"much":
        return {"size": "x" * 100_000}
    if body == b"vast":
        return {"text": "a number beyond all floats", "size": 10**400}
    return {"text": "what it says", "size": len(body)}
"""


def book() -> bytes:
    file = BytesIO()
    with ZipFile(file, "w") as packed:
        packed.writestr("META-INF/container.xml", CONTAINER)
        packed.writestr("OEBPS/content.opf", PACKAGE)
        packed.writestr("OEBPS/a.xhtml", "<html><body><h1>One</h1><p>The first chapter.</p></body></html>")
        packed.writestr("OEBPS/b.xhtml", "<html><body><p>The second.</p></body></html>")
    return file.getvalue()


def wheel_of(project: Path, folder: Path) -> Path:
    """The wheel that a build of the project would make: no backend is at hand in an environment for tests."""
    about = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    stem = f"{about['name'].replace('-', '_')}-{about['version']}"
    lines = ["Metadata-Version: 2.1", f"Name: {about['name']}", f"Version: {about['version']}"]
    lines += [f"Requires-Dist: {each}" for each in about["dependencies"]]
    entries = [f"{name} = {module}" for name, module in about["entry-points"]["tiptoe"].items()]
    files = {
        **{path.name: path.read_text() for path in project.glob("*.py")},
        f"{stem}.dist-info/METADATA": "\n".join(lines) + "\n",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/entry_points.txt": "\n".join(["[tiptoe]", *entries]) + "\n",
    }
    files[f"{stem}.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files)
    with ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return folder / f"{stem}-py3-none-any.whl"


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example, installed from its wheel, and a plugin that is at fault."""
    folder = tmp_path_factory.mktemp("site")
    wheel = wheel_of(EXAMPLE, tmp_path_factory.mktemp("wheels"))
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(folder), str(wheel)], check=True)
    (folder / "faulty.py").write_text(AT_FAULT)
    return folder


@pytest.fixture
def installed(site_packages: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder on the path, here and in the processes that read."""
    monkeypatch.syspath_prepend(str(site_packages))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site_packages), os.environ.get("PYTHONPATH", "")]))
    plugins.strangers.cache_clear()
    importlib.invalidate_caches()
    yield site_packages
    plugins.strangers.cache_clear()


def test_a_book_is_a_page_with_columns_of_its_plugin(
    make: Callable[..., Worker], web: Web, installed: Path, tmp_path: Path
) -> None:
    site = web.site()
    site.pages |= {"/": html("/book"), "/book": Answer(body=book(), headers={"Content-Type": TYPE})}
    worker = make(plugins="epub")
    assert rows.upgrade(worker.engine, plugins.strangers(("epub",))) == []
    start(worker, site.url())
    run(worker)
    query = "SELECT title, language, main_text, data FROM pages WHERE url = :url"
    (row,) = sql(worker.engine, query, url=site.url("/book"))
    assert (row["title"], row["language"]) == ("A book", "en")
    assert row["main_text"] == "One The first chapter.\n\nThe second."
    assert row["data"] == {"epub": {"author": "A. Author", "chapters": 2}}
    chapters = sql(worker.engine, "SELECT n, url, file, words FROM plugin_epub_chapters ORDER BY n")
    book_url = site.url("/book")
    assert [tuple(row.values()) for row in chapters] == [
        (1, book_url, "OEBPS/a.xhtml", 4),
        (2, book_url, "OEBPS/b.xhtml", 2),
    ]
    sql(worker.engine, "DROP TABLE plugin_epub_chapters")
    wish = ExportWish(
        what="pages",
        crawl="c",
        to=str(tmp_path / "out.csv"),
        columns=("url", "title", "epub.author", "epub.chapters"),
        where=("url~/book$",),
    )
    export_rows(worker.engine, worker.settings, wish)
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "url,title,epub.author,epub.chapters",
        f"{site.url('/book')},A book,A. Author,2",
    ]
    with served(worker.engine, settings_of(str(worker.settings.database_url), plugins="epub")) as browser:
        shown = browser.get(f"/page?u={site.url('/book')}&crawl=c").text
        assert "<dt>epub.author</dt><dd>A. Author</dd>" in shown
        assert "<dt>epub.chapters</dt><dd>2</dd>" in shown
        assert 'data-is="columns"' not in browser.get(f"/page?u={site.url('/')}&crawl=c").text


def test_without_it_the_book_is_of_a_type_that_is_not_read(make: Callable[..., Worker], web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/book"), "/book": Answer(body=book(), headers={"Content-Type": TYPE})}
    worker = make()
    start(worker, site.url())
    run(worker)
    assert url(worker.engine, site.url("/book"))["outcome"] == "unwanted"
    with pytest.raises(InputError, match="no such column"):
        export_rows(
            worker.engine, worker.settings, ExportWish(what="pages", crawl="c", to="-", columns=("epub.author",))
        )


# what the document makes the plugin do, and what its URL's detail says
FAULTS = [
    (b"raises", "parser raised KeyError: 'a bug'"),
    (b"hangs", " s"),  # too long by the processor's time, or by the clock where the machine is busy
    (b"dies", "parser died: signal SIGABRT"),
    (b"nonsense", "parser raised TypeError: faulty:read returned int, not a dict"),
    (b"much", "parser raised ValueError: faulty:read returned more than 8,000 characters of columns"),
]


def test_a_plugin_that_fails_costs_its_own_documents(make: Callable[..., Worker], web: Web, installed: Path) -> None:
    site = web.site()
    site.pages |= {"/": html(*(f"/{body.decode()}" for body, _ in FAULTS), "/good", "/page", "/vast")}
    site.pages |= {
        f"/{body.decode()}": Answer(body=body, headers={"Content-Type": "application/x-faulty"})
        for body in (*(body for body, _ in FAULTS), b"good", b"vast")
    }
    site.pages["/page"] = html(text="a page beside them")
    worker = make(plugins="faulty", parse_deadline_s=1.0)
    start(worker, site.url())
    run(worker)
    said = {body: url(worker.engine, site.url(f"/{body.decode()}")) for body, _ in FAULTS}
    assert {body: (row["state"], row["cause"]) for body, row in said.items()} == {
        body: ("quarantined", "cannot be read") for body, _ in FAULTS
    }
    assert [body for body, why in FAULTS if why not in said[body]["detail"]] == []
    kept = sql(worker.engine, "SELECT url, data FROM pages ORDER BY url")
    assert [row["url"] for row in kept] == [site.url(path) for path in ("/", "/good", "/page", "/vast")]
    assert kept[-1]["data"] == {"faulty": {"size": str(10**400)}}


# a plugin's source (None: there is none), and its problem
PROBLEMS = [
    (None, "has this name; install it"),
    ("raise RuntimeError('no')", "raised RuntimeError as it was loaded: no"),
    ("x = 1", "answers no hook"),
    (
        "from tiptoe.plugins import answers\n@answers\ndef settled(batches, settling): pass",
        "answers settled, which is for Tiptoe's own features",
    ),
    ("from tiptoe.plugins import answers\n@answers\ndef readers(): return [1]", "readers must return"),
    (
        "from tiptoe.plugins import Reader, answers\n@answers\ndef readers():\n"
        "    return [Reader(media_types=['a/b'], read='m:f', columns={'c': 'uuid'})]",
        "column c is of no type that there is",
    ),
]


@pytest.mark.parametrize(("source", "problem"), PROBLEMS)
def test_a_plugin_that_cannot_be_loaded_is_left_out_with_its_problem(
    source: str | None, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"plugin_{abs(hash(source))}"
    if source is not None:
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = plugins.strangers((name,))
    assert found.problem is not None
    assert problem in found.problem
    assert plugins.readers((name,)) == {}


def test_of_two_that_read_one_type_the_second_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "from tiptoe.plugins import Reader, answers\n@answers\ndef readers():\n"
        "    return [Reader(media_types=['a/b'], read='m:f')]"
    )
    for name in ("reads_one", "reads_too"):
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    one_, two = plugins.strangers(("reads_one", "reads_too"))
    assert one_.problem is None
    assert two.problem == "reads a/b, as reads_one does; name one of the two in TIPTOE_PLUGINS"


def test_one_that_is_made_for_another_tiptoe_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old_reader.py").write_text("from tiptoe.plugins import answers\n@answers\ndef readers(): return []")
    about = tmp_path / "old_reader-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: old-reader\nVersion: 1.0\nRequires-Dist: tiptoe<0.1\n"
    )
    (about / "entry_points.txt").write_text("[tiptoe]\nold = old_reader\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = plugins.strangers(("old",))
    assert found.problem is not None
    assert found.problem.startswith("is made for tiptoe<0.1, and this is ")
