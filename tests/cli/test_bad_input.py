"""Bad input: one line that names the thing and the remedy, exit code 2 (1 where a service is at fault), no traceback.

`tests.acceptance.test_bad_input` asks the same of the command in a process of its own.
"""

import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, run

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


def test_a_quiet_command_still_says_its_error(home: Path) -> None:
    assert run("crawl", "ftp://127.0.0.1/", "--quiet").err.count("\n") == 1


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
