"""The web process: `tiptoe web` says where it is, ends at a signal, and says in one line why it cannot begin."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import requests

from app.cli.web import tell
from app.config import load
from app.policy.passwords import matches
from tests.cli.conftest import Tiptoe, run, tiptoe
from tests.faults.waiting import until

__all__ = ["tiptoe"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def port() -> int:
    """A port that is free now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    return found


def environment(database_url: str, port: int) -> dict[str, str]:
    return {**os.environ, "TIPTOE_DATABASE_URL": database_url, "TIPTOE_WEB_LISTEN": f"127.0.0.1:{port}"}


def answered(process: "subprocess.Popen[str]", url: str) -> requests.Response | None:
    try:
        return requests.get(url, timeout=30)
    except requests.ConnectionError:
        assert process.poll() is None
        return None


@contextmanager
def web(environment: dict[str, str], folder: Path, *options: str, **streams: Any) -> "Iterator[subprocess.Popen[str]]":
    """`tiptoe web` in a folder, until the block ends."""
    command = [str(Path(sys.executable).parent / "tiptoe"), "web", *options]
    process = subprocess.Popen(command, env=environment, cwd=folder, text=True, **streams)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(90)


KILLS = [pytest.param(each, marks=pytest.mark.faults) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)]


@pytest.mark.parametrize("number", [signal.SIGINT, *KILLS], ids=attrgetter("name"))
def test_it_serves_until_a_signal_and_leaves_nothing(
    database_url: str, port: int, tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "tiptoe"), "web"],
        env=environment(database_url, port),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said.startswith(f"dashboard: http://127.0.0.1:{port}/?token=")
    until(lambda: answered(process, f"http://127.0.0.1:{port}/healthz"), "it says where before it listens there")
    person = requests.Session()
    assert person.get(said.split()[1], timeout=30).status_code == 200
    stream = person.get(f"http://127.0.0.1:{port}/stream", stream=True, timeout=30)  # an open stream holds nobody up
    process.send_signal(number)
    assert process.wait(90) == (-number if number == signal.SIGKILL else 130)
    assert process.stderr.read() == "", "the web process has ended, which wrote there too"
    stream.close()
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{port}/healthz", timeout=5)


def test_a_service_keeps_no_token_and_is_opened_by_a_new_url(
    database_url: str, port: int, tmp_path: Path, tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal is read by others, and later. A person types the command again: the next morning, in another
    browser."""
    given, (ours, journal) = environment(database_url, port), socket.socketpair()
    with closing(ours), closing(journal), web(given, tmp_path, stderr=journal) as process:
        until(lambda: answered(process, f"http://127.0.0.1:{port}/healthz"), "it is served")
        said = ours.recv(10_000).decode()
        assert f"http://127.0.0.1:{port}/" in said
        assert "token" not in said
        assert "`tiptoe web` prints the URL that opens it" in said
        assert list((tmp_path / ".tiptoe" / "run").glob("web-invited-*")) == []
        with web(given, tmp_path, stdout=subprocess.PIPE) as second:
            url = second.communicate(timeout=60)[0].strip()
        monkeypatch.setenv("TIPTOE_WEB_LISTEN", f"127.0.0.1:{port}")
        third = tiptoe("web", "--json")
        assert (third.json, third.err) == ({"url": f"http://127.0.0.1:{port}/"}, "")
        assert requests.get(url, timeout=30).status_code == 200
        assert requests.get(url, timeout=30).status_code == 401, "each opens it once"


@pytest.mark.parametrize("is_json", [False, True])
def test_what_is_kept_has_no_token(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_json: bool
) -> None:
    """Neither a file, nor the document on standard output whoever reads standard error."""
    settings = load(home=tmp_path, web_listen=f"127.0.0.1:{port}")
    with (tmp_path / "kept").open("w+") as file:
        if not is_json:
            monkeypatch.setattr(sys, "stderr", file)
        tell(settings, as_json=is_json)
        file.seek(0)
        said = capsys.readouterr()
        told = said.err or file.read()
    assert (json.loads(said.out) if is_json else said.out) == ({"url": f"http://127.0.0.1:{port}/"} if is_json else "")
    assert told == f"dashboard: http://127.0.0.1:{port}/\n`tiptoe web` prints the URL that opens it\n"
    assert list((tmp_path / "run").glob("web-invited-*")) == []


def test_a_port_that_is_taken_is_named_with_the_remedy(tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("TIPTOE_WEB_LISTEN", place)
        for command in (["web"], ["up", "--web"], ["crawl", "http://127.0.0.1/", "--web"]):
            ran = tiptoe(*command)
            assert ran.code == 2
            assert f"tiptoe: {place}: cannot be listened on" in ran.err
            assert "TIPTOE_WEB_LISTEN" in ran.err


def test_a_public_place_without_a_login_is_refused(tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_WEB_LISTEN", "0.0.0.0:0")
    ran = tiptoe("web")
    assert (ran.code, "tiptoe web --new-user NAME" in ran.err) == (2, True)


def test_a_new_user_is_printed_for_the_settings() -> None:
    ran = run("web", "--new-user", "anna", "--role", "read", stdin="correct horse battery\n")
    (user,) = load(web_users=ran.out.strip()).web_users
    name, role, kept = user.split(":")
    assert (name, role, matches("correct horse battery", kept)) == ("anna", "read", True)
    assert "correct horse" not in ran.out + ran.err
    assert run("web", "--new-user", "anna", stdin="short\n").code == 2
    assert run("web", "--new-user", "an na", stdin="correct horse battery\n").code == 2
    assert run("web", "--new-user", "anna", "--role", "owner", stdin="x\n").code == 2


def test_a_plain_command_imports_nothing_of_the_dashboard() -> None:
    script = "import sys, app.cli; app.cli.make_app(); print({'starlette', 'uvicorn', 'jinja2'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
