"""Flower as a fleet starts it: on loopback alone, or with a login."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


def flower(folder: Path, *arguments: str, **env: str) -> subprocess.Popen[str]:
    """`celery -A app flower` on a free port, with a broker that is kept in memory."""
    return subprocess.Popen(
        [str(BIN / "celery"), "-A", "app", "flower", "--port=0", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TIPTOE_HOME": str(folder), **env},
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def test_another_address_is_refused_without_a_login(tmp_path: Path) -> None:
    process = flower(tmp_path, FLOWER_ADDRESS="0.0.0.0")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "flower --address 0.0.0.0" in said
    assert "FLOWER_BASIC_AUTH=user:password" in said


# Flower's options, in the order in which one process reads them; whether it would start.
OPTIONS = {
    "--address=0.0.0.0": False,
    "--address=127.0.0.1.example.org": False,
    "--address=::": False,
    "--address=localhost": True,
    "--address=0.0.0.0 --basic_auth=a:b": True,
}
READ = """
import sys
import app.celery
from celery import signals
from flower.command import options

for given in sys.argv[1:]:
    options.parse_command_line(["flower", *given.split()], final=False)
    try:
        signals.import_modules.send(sender=app.celery.app)
        print("starts", options.address)
    except SystemExit as refused:
        print(str(refused).partition(":" if "::" not in given else ": ")[0])
"""


def test_an_address_asks_for_a_login_unless_it_is_loopback(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TIPTOE_HOME": str(tmp_path)}
    argv = [sys.executable, "-c", READ, *OPTIONS]
    ran = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    addresses = [given.split()[0].partition("=")[2] for given in OPTIONS]
    outcomes = zip(addresses, OPTIONS.values(), strict=True)
    assert ran.stdout.splitlines() == [
        f"{'starts' if is_free else 'flower --address'} {at}" for at, is_free in outcomes
    ]


@pytest.mark.parametrize(
    ("arguments", "env", "listens"),
    [((), {}, "127.0.0.1"), (("--address=0.0.0.0",), {"FLOWER_BASIC_AUTH": "a:b"}, "0.0.0.0")],
)
def test_it_starts_on_loopback_or_with_a_login(
    tmp_path: Path, arguments: tuple[str, ...], env: dict[str, str], listens: str
) -> None:
    process = flower(tmp_path, *arguments, **env)
    assert process.stderr is not None
    try:
        said = next((line for line in process.stderr if "Visit me at" in line), "it ended")
        assert f"http://{listens}:" in said
        if not arguments:
            assert listening(process.pid) == {"0100007F"}
    finally:
        process.kill()  # at SIGTERM it may wait for a broker, and there is none
        process.communicate(timeout=300)


def listening(pid: int) -> set[str]:
    """The addresses of IPv4 on which a process listens, as /proc/net/tcp writes them."""
    sockets = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}
