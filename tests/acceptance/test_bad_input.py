"""Bad input: one line that names the thing and the remedy, exit code 2 (1 where a service is at fault), no traceback."""

import socket
from pathlib import Path

import pytest

from tests.acceptance.conftest import Ran, Tiptoe

pytestmark = pytest.mark.acceptance


def says(ran: Ran, *words: str) -> None:
    assert "Traceback" not in ran.err
    last = ran.err.strip().splitlines()[-1]
    for word in words:
        assert word in last, ran.err


# seed, words of the error
SEEDS = [
    ("ftp://127.0.0.1/", ("ftp://127.0.0.1/", "http")),
    ("nonsense", ("nonsense", "https://")),
    ("http://no-such-host.invalid/", ("no-such-host.invalid", "resolve")),
    ("http://10.1.2.3/", ("10.1.2.3", "TIPTOE_ALLOW_NETWORKS=10.1.2.3/32")),
    ("http://user:secret@127.0.0.1/", ("password",)),
    ("http://93.184.216.34/", ("contact", "--contact")),
]


@pytest.mark.parametrize(("seed", "words"), SEEDS)
def test_a_seed_that_cannot_be_crawled(tiptoe: Tiptoe, seed: str, words: tuple[str, ...]) -> None:
    ran = tiptoe.run("crawl", seed)
    assert ran.code == 2, ran.err
    says(ran, *words)
    assert not (tiptoe.home / "postgres").exists()  # known before anything was started


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_services_that_are_not_there(tiptoe: Tiptoe) -> None:
    port = free_port()
    tiptoe.env["TIPTOE_DATABASE_URL"] = f"postgresql://who:secret@127.0.0.1:{port}/db"
    ran = tiptoe.run("crawl", "http://127.0.0.1:81/")
    assert ran.code == 1
    says(ran, f"127.0.0.1:{port}")
    assert "secret" not in ran.err

    del tiptoe.env["TIPTOE_DATABASE_URL"]
    tiptoe.env["TIPTOE_BROKER_URL"] = f"redis://:secret@127.0.0.1:{port}/0"
    ran = tiptoe.run("crawl", "http://127.0.0.1:81/")
    assert ran.code == 1
    says(ran, "TIPTOE_BROKER_URL", str(port))
    assert "secret" not in ran.err


def test_a_port_that_the_settings_allow_is_no_bad_input(tiptoe: Tiptoe) -> None:
    """Browsers refuse 6000. The next thing that is wrong is told: there is no database."""
    port = free_port()
    tiptoe.env |= {"TIPTOE_BAD_PORTS": "25", "TIPTOE_DATABASE_URL": f"postgresql://who:secret@127.0.0.1:{port}/db"}
    ran = tiptoe.run("crawl", "http://127.0.0.1:6000/")
    assert ran.code == 1, ran.err
    says(ran, f"127.0.0.1:{port}")


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
def test_a_setting_that_cannot_work(tiptoe: Tiptoe, name: str, value: str, words: tuple[str, ...]) -> None:
    tiptoe.env[name] = value
    ran = tiptoe.run("crawl", "http://127.0.0.1:81/")
    assert ran.code in {1, 2}, ran.err
    says(ran, *words)


def test_a_home_that_cannot_be_written(tiptoe: Tiptoe) -> None:
    file = tiptoe.home.parent / "file"
    file.write_text("")
    tiptoe.env["TIPTOE_HOME"] = str(file / "home")
    ran = tiptoe.run("crawl", "http://127.0.0.1:81/")
    assert ran.code == 2
    says(ran, str(file / "home"), "TIPTOE_HOME")


def test_a_seed_file_with_bad_lines_keeps_the_good_ones(tiptoe: Tiptoe) -> None:
    lines = [f"http://127.0.{number // 250}.{number % 250}/" for number in range(2_000)]
    for number in (3, 500, 1_999):
        lines[number] = f"no url {number}"
    seeds = Path(tiptoe.home.parent / "seeds.txt")
    seeds.write_text("\n".join(lines))
    ran = tiptoe.run("seed", "import", "many", str(seeds))
    assert ran.code == 0, ran.err
    for number in (4, 501, 2_000):
        assert f"line {number}:" in ran.err
    assert tiptoe.sql("SELECT count(*) AS n FROM urls") == [{"n": 1_997}]
