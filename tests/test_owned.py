"""What belongs to somebody else, or that others may write to, is refused in one line with the remedy."""

import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app import owned
from app.config import load
from app.errors import InputError, ServiceError, SettingError
from app.local.children import spawn
from app.local.home import open_home, take
from app.local.services import start_postgres
from tests.cli.conftest import run

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
NOBODY = pwd.getpwnam("nobody")
SECRET = "of root's"


def given_away(path: Path) -> None:
    os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid, follow_symlinks=False)


def writable_by_all(path: Path) -> None:
    path.chmod(0o777)


def writable_by_a_group(path: Path) -> None:
    """Of another group than our own private one."""
    os.chown(path, -1, NOBODY.pw_gid)
    path.chmod(0o775)


WAYS = [
    pytest.param(given_away, r"belongs to another user \(nobody\); .*chown", marks=as_root),
    pytest.param(writable_by_a_group, r"may be written by other users \(mode 0775\); run: chmod go-w", marks=as_root),
    pytest.param(writable_by_all, r"may be written by other users \(mode 0777\); run: chmod go-w"),
]
Way = Callable[[Path], None]


@pytest.mark.parametrize(("spoil", "line"), WAYS)
@pytest.mark.parametrize("part", ["", "logs", "run", "lock", "archive", "valkey", "services.json"])
def test_a_home(tmp_path: Path, spoil: Way, line: str, part: str) -> None:
    home = tmp_path / "home"
    open_home(home).remember("valkey", {"port": 1, "password": SECRET})
    before = (home / "services.json").read_bytes()
    for folder in ("archive", "valkey"):
        (home / folder).mkdir()
    spoil(home / part)
    with pytest.raises(InputError, match=line) as refused:
        start_postgres(home, print)
    assert str(home) in str(refused.value)
    assert (home / "services.json").read_bytes() == before


@pytest.mark.parametrize("part", ["run", "logs", "archive", "valkey"])
@pytest.mark.parametrize("make", [Path.touch, os.mkfifo, lambda path: path.symlink_to(path.name)])
def test_what_stands_where_a_folder_of_a_home_belongs(tmp_path: Path, part: str, make: Callable[[Path], None]) -> None:
    (tmp_path / "home").mkdir()
    make(tmp_path / "home" / part)
    with pytest.raises(SettingError, match=f"the folder .*/{part}: is no folder; remove what has its name"):
        start_postgres(tmp_path / "home", print)


MEMORIES = [
    ("[]", "it holds no facts"),
    ("null", "it holds no facts"),
    ('{"postgres": [1]}', "it holds no facts"),
    ('{"postgres": {"port": "x", "data": "postgres"}}', "it holds no facts"),
    ('{"postgres": {"port": 1, "data": "a\\u0000"}}', "it holds no facts"),
    ('{"postgres": {"data": "\\ud800"}}', "it holds no facts"),
    ('{"postgres": {"port": 1}}', "postgres has no data"),
    ("[" * 50_000, "recursion"),
    ("[" + " " * 100_000 + "]", "Expecting value"),
]


@pytest.mark.parametrize(("memory", "line"), MEMORIES, ids=range(len(MEMORIES)))
def test_what_a_home_remembers_is_what_it_wrote(tmp_path: Path, memory: str, line: str) -> None:
    """Else a command says so, and touches no database that stands there."""
    home = open_home(tmp_path / "home")
    (home.root / "services.json").write_text(memory)
    with pytest.raises(ServiceError, match=rf"services.json: is damaged \(.*{line}.*\); restore it, or remove it"):
        start_postgres(home.root, print)
    assert not (home.root / "postgres").exists()


@as_root
@pytest.mark.parametrize("of_link", [False, True])
def test_a_home_behind_a_link(tmp_path: Path, of_link: bool) -> None:
    """One of ours is followed, one of another user's is not; what it leads to is judged, too."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    open_home(tmp_path / "link")
    given_away(tmp_path / ("link" if of_link else "real"))
    with pytest.raises(InputError, match="belongs to another user"):
        open_home(tmp_path / "link")


def test_a_home_that_we_make_is_ours_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_home(tmp_path / "home")
        open_home(tmp_path / "home")
    finally:
        os.umask(before)
    assert not stat.S_IMODE((tmp_path / "home").stat().st_mode) & 0o022


@as_root
def test_as_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """./.tiptoe of another user, with a log that is a link to a file of root's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPTOE_CONTACT", "you@example.org")
    (tmp_path / ".tiptoe" / "logs").mkdir(parents=True)
    (tmp_path / "roots").write_text(SECRET)
    (tmp_path / ".tiptoe" / "logs" / "worker-1.log").symlink_to(tmp_path / "roots")
    given_away(tmp_path / ".tiptoe")
    for command in (["crawl", "http://192.0.2.1/", "--allow-network", "192.0.2.0/24"], ["status"], ["up"]):
        ran = run(*command)
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran
        assert "TIPTOE_HOME='.tiptoe': " in ran.err
    assert (tmp_path / "roots").read_text() == SECRET


LINKS = [
    (lambda path, to: path.symlink_to(to), "is a link"),
    (lambda path, to: path.hardlink_to(to), "has another name, too"),
    (lambda path, _: os.mkfifo(path), "is no plain file"),
]


@pytest.mark.parametrize(("make", "line"), LINKS)
def test_a_log_and_a_lock_that_are_links(tmp_path: Path, make: Callable[[Path, Path], None], line: str) -> None:
    target = tmp_path / "target"
    target.write_text(SECRET)
    make(tmp_path / "worker-1.log", target)
    with pytest.raises(InputError, match=line):
        spawn(["true"], env={}, log_path=tmp_path / "worker-1.log", death_signal=15)
    make(tmp_path / "lock", target)
    with pytest.raises(InputError, match=line):
        take(tmp_path / "lock", 1, waiting_for="nobody", log=print)
    make(tmp_path / "services.json", target)
    with pytest.raises(InputError, match=line):
        open_home(tmp_path).recall("postgres")
    assert target.read_text() == SECRET


@pytest.mark.parametrize(("spoil", "line"), WAYS)
def test_an_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Way, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("TIPTOE_CONTACT=you@example.org\n")
    assert load().contact == "you@example.org"
    spoil(tmp_path / ".env")
    with pytest.raises(InputError, match=f"the file .env: {line}"):
        load()


@pytest.mark.parametrize("command", [["status"], ["sql", "SELECT 1"]])
def test_an_env_file_that_is_a_pipe(tmp_path: Path, command: list[str]) -> None:
    """Without a writer, whoever opens it waits for ever: a process, so that this test ends."""
    os.mkfifo(tmp_path / ".env")
    main = "from app.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", main, *command], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    remedy = "is no regular file; write its settings into one, or remove it"
    assert (ran.returncode, ran.stderr) == (2, f"tiptoe: the file .env: {remedy}\n")


def test_a_folder_of_that_name_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some call their virtual environment so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").mkdir()
    assert load(contact="you@example.org").contact == "you@example.org"


def test_nothing_is_said_of_what_is_not_there(tmp_path: Path) -> None:
    owned.check(tmp_path / "nowhere", "it")
