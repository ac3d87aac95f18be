"""Bad input: one line that names the thing and the remedy, exit code 2 (1 where a service is at fault), no traceback.

`tests.acceptance.test_bad_input` asks the same of the command in a process of its own.
"""

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.out import write_file
from app.errors import InputError
from tests.cli.conftest import Ran, Tiptoe, run
from tests.crawl.web import Site

SEED = "http://127.0.0.1:81/"


def says(ran: Ran, *words: str) -> None:
    assert "Traceback" not in ran.err
    last = ran.err.strip().splitlines()[-1]
    for word in words:
        assert word in last, ran.err


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is configured but the home, and the networks of the tests' webs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPTOE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TIPTOE_ALLOW_NETWORKS", "127.0.0.0/8")
    return tmp_path / "home"


@pytest.fixture
def configured(home: Path, monkeypatch: pytest.MonkeyPatch, database_url: str, broker_url: str) -> Path:
    """Services that are there, so that nothing is started for a setting that cannot work."""
    monkeypatch.setenv("TIPTOE_DATABASE_URL", database_url)
    monkeypatch.setenv("TIPTOE_BROKER_URL", broker_url)
    return home


# seed, words of the error
SEEDS = [
    ("ftp://127.0.0.1/", ("ftp://127.0.0.1/", "http")),
    ("nonsense", ("nonsense", "https://")),
    ("http://no-such-host.invalid/", ("no-such-host.invalid", "resolve")),
    ("http://10.1.2.3/", ("10.1.2.3", "--allow-network 10.1.2.3/32", "TIPTOE_ALLOW_NETWORKS=10.1.2.3/32")),
    ("http://user:secret@127.0.0.1/", ("password",)),
    ("http://93.184.216.34/", ("contact", "--contact")),
]


@pytest.mark.parametrize(("seed", "words"), SEEDS)
def test_a_seed_that_cannot_be_crawled(home: Path, seed: str, words: tuple[str, ...]) -> None:
    ran = run("crawl", seed)
    assert ran.code == 2, ran.err
    says(ran, *words)
    assert not (home / "postgres").exists()  # known before anything was started


@pytest.mark.parametrize(
    ("name", "lines", "words"),
    [
        ("seeds.txt", "# nothing\n\n", ("seed file seeds.txt", "contains no seed")),
        ("pages.csv", "title,url\nA,ftp://127.0.0.1/\n", ("ftp://127.0.0.1/", "http")),
        ("many", "http://127.0.0.1/\n" * 10_001, ("more than 10,000 seeds", "tiptoe seed import NAME many")),
    ],
)
def test_a_file_of_seeds_that_cannot_be_crawled(home: Path, name: str, lines: str, words: tuple[str, ...]) -> None:
    Path(name).write_text(lines, encoding="utf-8")  # in the test's own folder
    ran = run("crawl", name)
    assert ran.code == 2, ran.err
    says(ran, *words)
    assert not (home / "postgres").exists()


def test_a_misspelt_setting_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_DEFUALT_DELAY_S", "5")
    (home.parent / ".env").write_text("TIPTOE_CONTCAT=you@example.org\n")
    ran = run("crawl", "http://10.1.2.3/")
    for name in ("TIPTOE_DEFUALT_DELAY_S", "TIPTOE_CONTCAT"):
        assert f"warning: {name} is not a setting; correct its spelling, or unset it" in ran.err.splitlines()


def test_a_quiet_command_still_says_its_error(home: Path) -> None:
    assert run("crawl", "ftp://127.0.0.1/", "--quiet").err.count("\n") == 1


@pytest.mark.parametrize(
    ("set_to", "wanted", "here"),
    [("", "nope", "is not set"), ("books.py", "book", "loads books"), ("books.py", "books", None), ("", "all", None)],
)
def test_a_handler_that_is_not_loaded_here_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_to: str, wanted: str, here: str | None
) -> None:
    """A fleet's workers may load it; here a typo would cost all items, without a word."""
    monkeypatch.chdir(tmp_path)
    assert run("extract", "new", "books").code == 0
    if set_to:
        monkeypatch.setenv("TIPTOE_HANDLERS", set_to)
    ran = run("crawl", "ftp://127.0.0.1/", "--handler", wanted)
    warning = f"warning: handler {wanted!r} gets no page from here: TIPTOE_HANDLERS {here}\n"
    assert ran.code == 2
    assert ran.err.startswith(warning) if here else "warning" not in ran.err


@pytest.fixture
def nobody_listens() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_database_that_is_not_there(configured: Path, monkeypatch: pytest.MonkeyPatch, nobody_listens: int) -> None:
    monkeypatch.setenv("TIPTOE_DATABASE_URL", f"postgresql://who:secret@127.0.0.1:{nobody_listens}/db")
    ran = run("crawl", SEED)
    assert ran.code == 1
    says(ran, f"127.0.0.1:{nobody_listens}")
    assert "secret" not in ran.err


def test_a_broker_that_is_not_there(configured: Path, monkeypatch: pytest.MonkeyPatch, nobody_listens: int) -> None:
    monkeypatch.setenv("TIPTOE_BROKER_URL", f"redis://:secret@127.0.0.1:{nobody_listens}/0")
    ran = run("crawl", SEED)
    assert ran.code == 1
    says(ran, "TIPTOE_BROKER_URL", str(nobody_listens))
    assert "secret" not in ran.err


# setting, value, words of the error
SETTINGS = [
    ("TIPTOE_DATABASE_URL", "mysql://h/db", ("mysql", "postgresql://")),
    ("TIPTOE_BROKER_URL", "carrier-pigeon://coop", ("carrier-pigeon", "redis://")),
    ("TIPTOE_DEFAULT_DELAY_S", "soon", ("TIPTOE_DEFAULT_DELAY_S='soon'",)),
    ("TIPTOE_ALLOW_NETWORKS", "127.0.0.0/99", ("127.0.0.0/99", "CIDR")),
    ("TIPTOE_CONTACT", "nobody", ("nobody",)),
    ("TIPTOE_PRODUCT_TOKEN", "Mozilla", ("Mozilla",)),
]


@pytest.mark.parametrize(("name", "value", "words"), SETTINGS)
def test_a_setting_that_cannot_work(
    configured: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv(name, value)
    ran = run("crawl", SEED)
    assert ran.code in {1, 2}, ran.err
    says(ran, *words)


def test_a_home_that_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home.with_name("file")
    file.write_text("")
    monkeypatch.setenv("TIPTOE_HOME", str(file / "home"))
    ran = run("crawl", SEED)
    assert ran.code == 2
    says(ran, str(file / "home"), "TIPTOE_HOME")


def test_a_seed_file_with_bad_lines_keeps_the_good_ones(configured: Path) -> None:
    lines = [f"http://127.0.{number // 250}.{number % 250}/" for number in range(2_000)]
    for number in (3, 500, 1_999):
        lines[number] = f"no url {number}"
    seeds = configured.with_name("seeds.txt")
    seeds.write_text("\n".join(lines))
    ran = run("seed", "import", "many", str(seeds))
    assert ran.code == 0, ran.err
    for number in (4, 501, 2_000):
        assert f"line {number}:" in ran.err
    assert run("sql", "SELECT count(*) AS n FROM urls", "--json").json == [{"n": 1_997}]


def test_a_port_that_the_settings_allow_is_no_bad_input(
    home: Path, nobody_listens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Browsers refuse 6000. The next thing that is wrong is reported: there is no database."""
    monkeypatch.setenv("TIPTOE_BAD_PORTS", "25")
    monkeypatch.setenv("TIPTOE_DATABASE_URL", f"postgresql://who:secret@127.0.0.1:{nobody_listens}/db")
    ran = run("crawl", "http://127.0.0.1:6000/")
    assert ran.code == 1, ran.err
    says(ran, f"127.0.0.1:{nobody_listens}")


FULL = Path("/dev/full")  # every write is refused with ENOSPC
has_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")

# what is typed, of pages and their ways out; URL: a page that was crawled → words of the line
WAYS_OUT = [
    (["changes", "nope"], "crawl nope: does not exist"),
    (["changes", "docs", "--since", "yesterday"], "yesterday"),
    (["page", "list", "--crawl", "nope"], "crawl nope: does not exist"),
    (["page", "list", "--crawl", "docs", "--limit", "0"], "--limit"),
    (["page", "list", "--crawl", "docs", "--since", "soon"], "soon"),
    (["page", "show", "mailto:x", "--text"], "mailto:x"),
    (["page", "show", "URL", "--crawl", "nope"], "nope"),
    (["page", "show", "URL", "--content", "half"], "half"),
    (["page", "get", "mailto:x"], "mailto:x"),
    (["page", "get", "http://10.9.8.7/"], "not public"),
    (["page", "reread", "nope"], "crawl nope: does not exist"),
    (["shell", "URL", "--crawl", "nope"], "nope"),
    (["shell", "mailto:x"], "mailto:x"),
    (["export", "pages", "--crawl", "nope", "--to", "x.jsonl"], "crawl nope: does not exist"),
    (["export", "pages", "--crawl", "docs", "--to", "x.xml"], "x.xml"),
    (["export", "pages", "--crawl", "docs", "--to", "x.jsonl", "--format", "xml"], "--format xml"),
    (["export", "pages", "--crawl", "docs", "--to", "x.jsonl", "--columns", "nope"], "nope"),
    (["export", "pages", "--crawl", "docs", "--to", "x.jsonl", "--where", "nope=1"], "nope"),
    (["export", "pages", "--crawl", "docs", "--to", "x.jsonl", "--since", "soon"], "soon"),
    (["export", "pages", "--crawl", "docs", "--to", "a-file/x.jsonl"], "a-file"),
    (["export", "nope", "--crawl", "docs", "--to", "x.jsonl"], "nope"),
]


@pytest.mark.parametrize(("args", "word"), WAYS_OUT, ids=lambda cell: " ".join(cell) if isinstance(cell, list) else "")
def test_a_way_out_that_cannot_be_is_one_line_and_leaves_no_file(
    tiptoe: Tiptoe, site: Site, args: list[str], word: str
) -> None:
    Path("a-file").write_text("mine")
    ran = tiptoe(*[site.url("/a") if each == "URL" else each for each in args], stdin="")
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("tiptoe: ")
    assert word in line
    assert [path.name for path in Path().iterdir()] == ["a-file"]


@has_full
@pytest.mark.parametrize("args", [["--version"], ["crawl", "--help"], ["sql", "SELECT 1", "--json"]])
def test_an_answer_that_a_full_disk_does_not_take_is_one_line(
    database_url: str, tmp_path: Path, args: list[str]
) -> None:
    env = {**os.environ, "TIPTOE_DATABASE_URL": database_url, "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-P", "-m", "tiptoe", *args]
    with FULL.open("wb") as full:
        ran = subprocess.run(argv, env=env, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line == ("tiptoe: the answer: cannot be written (No space left on device); free space, or write elsewhere")


def test_a_reader_that_went_away_is_no_error_to_report(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    reads, writes = os.pipe()
    os.close(reads)
    argv = [sys.executable, "-P", "-m", "tiptoe", "crawl", "--help"]
    with os.fdopen(writes, "wb") as gone:
        ran = subprocess.run(argv, env=env, cwd=tmp_path, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")


@pytest.mark.parametrize("stands", ["page.md", None])
def test_a_file_that_cannot_be_written_whole_is_as_it_was(tmp_path: Path, stands: str | None) -> None:
    """Where another user's link, or a pipe, stands where the draft is written."""
    file, draft = tmp_path / "page.md", tmp_path / f".tiptoe-{os.getpid()}.part"
    write_file(file, "the old one")
    draft.symlink_to(stands) if stands else os.mkfifo(draft)
    with pytest.raises(InputError, match=r"page\.md: cannot be written \("):
        write_file(file, "the new one")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"page.md": "the old one"}


def test_so_it_is_on_a_full_disk(tmp_path: Path) -> None:
    write_file(tmp_path / "page.md", "the old one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, before[1]))
    try:
        with pytest.raises(InputError, match=r"page\.md: cannot be written \("):
            write_file(tmp_path / "page.md", "the new one")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"page.md": "the old one"}
