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


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1.example.org", "::"])
def test_another_address_is_refused_without_a_login(tmp_path: Path, address: str) -> None:
    process = flower(tmp_path, f"--address={address}")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"flower --address {address}" in said
    assert "FLOWER_BASIC_AUTH=user:password" in said


def test_an_address_in_the_environment_is_refused_too(tmp_path: Path) -> None:
    process = flower(tmp_path, FLOWER_ADDRESS="0.0.0.0")
    _, said = process.communicate(timeout=300)
    assert (process.returncode, "FLOWER_BASIC_AUTH" in said) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "env", "listens"),
    [
        ((), {}, "127.0.0.1"),
        (("--address=localhost",), {}, "localhost"),
        (("--address=0.0.0.0",), {"FLOWER_BASIC_AUTH": "a:b"}, "0.0.0.0"),
        (("--address=0.0.0.0", "--basic_auth=a:b"), {}, "0.0.0.0"),
    ],
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
