"""`tiptoe botauth`: from no key to signed requests, and one line with a remedy for whatever is amiss."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.net import signature
from app.net.signature import DIRECTORY_PATH, DIRECTORY_TYPE
from tests.cli.conftest import Ran, Tiptoe, run
from tests.net.signed import Answered, Asked, verify

AGENT = "https://bot.example.org"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No .env of whoever runs the tests; no database either: these commands need none."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def key(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set, with the agent."""
    path = here / "key.json"
    signature.create(path)
    monkeypatch.setenv("TIPTOE_SIGNING_KEY", str(path))
    monkeypatch.setenv("TIPTOE_SIGNATURE_AGENT", AGENT)
    return path


def name_of(path: Path) -> str:
    return signature.thumbprint(signature.load(path).public_key())


def one_line(ran: Ran) -> str:
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    return line


def test_keygen_prints_the_thumbprint_and_what_is_next(here: Path) -> None:
    ran = run("botauth", "keygen")
    path = here / ".tiptoe" / "signing-key.json"
    assert (ran.code, ran.out) == (0, name_of(path) + "\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert f"TIPTOE_SIGNING_KEY={path}" in ran.err
    assert "TIPTOE_SIGNATURE_AGENT=https://" in ran.err
    assert json.loads(path.read_text())["d"] not in ran.err + ran.out


def test_keygen_overwrites_nothing(here: Path) -> None:
    assert run("botauth", "keygen", "--out", "key").code == 0
    before = (here / "key").read_bytes()
    assert one_line(run("botauth", "keygen", "--out", "key")) == (
        "tiptoe: key file key: key exists already; choose another with --out, or move it away"
    )
    assert (here / "key").read_bytes() == before


def test_what_keygen_says_next_works(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = run("botauth", "keygen").err
    for name, value in re.findall(r"(TIPTOE_\w+)=(\S+)", said):
        monkeypatch.setenv(name, value)
    (command,) = re.findall(r"^ *tiptoe (.*?) *#", said, re.MULTILINE)
    assert run(*command.split()).code == 0
    assert (here / "FOLDER" / DIRECTORY_PATH.lstrip("/")).exists()


def test_directory_is_printed(key: Path) -> None:
    ran = run("botauth", "directory")
    assert ran.code == 0
    assert [each["kid"] for each in ran.json["keys"]] == [name_of(key)]
    assert '"d"' not in ran.out


def test_directory_lists_both_keys_while_they_change(key: Path) -> None:
    signature.create(Path("new"))
    listed = run("botauth", "directory", "--key", "new", "--key", str(key), "--key", "new").json["keys"]
    assert [each["kid"] for each in listed] == [name_of(Path("new")), name_of(key)]


def test_directory_is_written_at_its_place(key: Path, here: Path) -> None:
    for _ in range(2):  # what is there is replaced
        ran = run("botauth", "directory", "--out", "site")
        path = Path("site") / ".well-known" / "http-message-signatures-directory"
        assert (ran.code, ran.out) == (0, f"{path}\n")
        assert path.read_text() == run("botauth", "directory").out
        assert DIRECTORY_TYPE in ran.err


def test_directory_is_served_signed_until_ctrl_c(key: Path) -> None:
    tiptoe = [
        sys.executable,
        "-c",
        "from app.cli import main; main()",
        "botauth",
        "directory",
        "--serve",
        "--port",
        "0",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        tiptoe,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    ) as process:
        assert process.stderr is not None
        port = int(re.findall(r"http://127\.0\.0\.1:(\d+)/", process.stderr.readline())[0])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", DIRECTORY_PATH, headers={"Host": "bot.example.org"})
        answer = connection.getresponse()
        body = answer.read()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    message = Answered(dict(answer.headers.items()), Asked(AGENT + DIRECTORY_PATH, {}))
    assert verify(message, signature.load(key), tag="http-message-signatures-directory", body=body)


# environment, arguments → what the one line says
@pytest.mark.parametrize(
    ("environment", "args", "says"),
    [
        ({}, ["directory"], "no signing key: set TIPTOE_SIGNING_KEY, or give --key; tiptoe botauth keygen makes one"),
        ({}, ["directory", "--key", "nowhere"], "signing key nowhere: cannot be read (No such file or directory)"),
        ({}, ["directory", "--key", "folder"], "Is a directory"),
        ({}, ["directory", "--key", "open"], "others can read it (mode 0644); run: chmod 600 open"),
        ({}, ["directory", "--key", "good", "--serve"], "TIPTOE_SIGNATURE_AGENT is not set: set it"),
        ({}, ["directory", "--key", "good", "--serve", "--out", "x"], "exclude each other"),
        ({}, ["directory", "--key", "good", "--out", "open"], "cannot be written"),
        ({}, ["keygen", "--out", "open/key"], "choose another"),
        ({"TIPTOE_SIGNING_KEY": "good"}, ["directory"], "TIPTOE_SIGNATURE_AGENT is not set: TIPTOE_SIGNING_KEY='good'"),
        (
            {"TIPTOE_SIGNATURE_AGENT": AGENT},
            ["directory"],
            f"TIPTOE_SIGNATURE_AGENT='{AGENT}': needs TIPTOE_SIGNING_KEY",
        ),
        (
            {"TIPTOE_SIGNING_KEY": "good", "TIPTOE_SIGNATURE_AGENT": AGENT},
            ["directory", "--serve", "--host", "192.0.2.1"],
            "--host 192.0.2.1 --port 8080: cannot listen there",
        ),
    ],
)
def test_what_is_amiss_is_one_line(
    environment: dict[str, str], args: list[str], says: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature.create(Path("good"))
    Path("folder").mkdir()
    Path("open").write_text("{}")
    Path("open").chmod(0o644)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert says in one_line(run("botauth", *args))


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_is_a_port(key: Path, port: str) -> None:
    assert run("botauth", "directory", "--serve", "--port", port).code == 2


# --- with the key set, elsewhere --------------------------------------------------------------------


def test_doctor_names_the_key_or_what_is_wrong_with_it(tiptoe: Tiptoe, key: Path, here: Path) -> None:
    def found() -> list[tuple[str, str]]:
        checks = tiptoe("doctor", "--json").json
        return [(check["grade"], check["finding"]) for check in checks if check["name"] == "signing"]

    assert found() == [("ok", f"key {name_of(key)} of {AGENT}")]
    key.chmod(0o644)
    assert found() == [("fail", f"signing key {key}")]


@pytest.mark.parametrize("command", [["crawl", "http://127.0.0.1:1/"], ["up"]])
def test_a_crawl_does_not_start_with_a_bad_key(key: Path, command: list[str]) -> None:
    key.chmod(0o644)
    assert f"chmod 600 {key}" in one_line(run(*command))
