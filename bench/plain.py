"""A fleet of plain processes, as several machines would run it: `celery` beat and workers, without `tiptoe crawl`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.local.stack import MALLOC
from bench import tiptoe
from bench.report import ROOT, BenchError

CELERY = ("-m", "celery", "-A", "app")
_STOPS_S = 60.0


def environment(home: Path, *, database_url: str, broker_url: str, settings: Mapping[str, str]) -> dict[str, str]:
    """For processes that crawl loopback; no TIPTOE_ variable of ours gets through."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")},
        **MALLOC,
        "PYTHONPATH": str(ROOT),
        "TIPTOE_HOME": str(home),
        "TIPTOE_DATABASE_URL": database_url,
        "TIPTOE_BROKER_URL": broker_url,
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        **settings,
    }


def seed(env: Mapping[str, str], home: Path, seeds: Sequence[str]) -> None:
    """Into an active crawl named bench. Raises BenchError."""
    command = [str(tiptoe.COMMAND), "seed", "import", "bench", "-"]
    done = subprocess.run(
        command, input="\n".join(seeds), env=env, cwd=home, text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise BenchError(f"seed import ended with {done.returncode}: {done.stderr[-500:]}")


@contextmanager
def process(
    env: Mapping[str, str],
    home: Path,
    name: str,
    *arguments: str,
    program: Sequence[str] = CELERY,
    within: Sequence[str] = (),
) -> Iterator[None]:
    """A beat or a worker (the first argument), ended warmly; its log is <name>.log in home. within: a command that
    becomes it."""
    command = [*within, sys.executable, *program, *arguments]
    if arguments[0] == "worker":
        command += ["--without-gossip", "--without-mingle", "-n", f"{name}@%h"]
    with (home / f"{name}.log").open("wb") as log:
        child = subprocess.Popen(
            command, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )  # a session of its own: as on a machine of its own the kernel does not count it with the others
        try:
            yield
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(_STOPS_S)
            finally:
                child.kill()
