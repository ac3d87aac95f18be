"""Two Crawlee processes that share one request queue in Postgres, at the best settings found so far (see SETTINGS).

Its SQL storage is the one that survives a crash and lets processes share the work, as Tiptoe's does; the server is of
the same wheel with the same configuration. Crawlee lives in an environment of its own, bench/.venv-crawlee, installed
at the first run. A whole crawl takes it two minutes; where it is not done after LIMIT_S, its rate is that of what it
got done.
"""

import json
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from app.local.services import start_postgres
from bench import tiptoe
from bench.children import group, installed, is_running, tail, take_leave, version_of
from bench.report import ROOT, BenchError

HOME = ROOT / "bench" / ".venv-crawlee"
SPIDER = Path(__file__).with_name("crawlee_spider.py")
LIMIT_S = 240.0
# The cheapest of impit and httpx, of 4 to 32 requests at once and of pools of 8 to 32 (Crawlee 1.11); two processes, as
# all others here have.
SETTINGS: dict[str, object] = {"processes": 2, "concurrency": 16, "pool": 16, "http_client": "impit"}


def install() -> Path:
    """Crawlee's python, installed if need be. Raises BenchError."""
    return installed(HOME, "crawlee", "[parsel,httpx,curl-impersonate,sql-postgres]")


def version() -> str:
    """For the record: the comparison is with this release."""
    return version_of(install(), "crawlee")


def run(seeds: list[str], limit_s: float = LIMIT_S, *, overrides: dict[str, object]) -> bool:
    """To the end or the limit, whichever comes first. Was it the end? Raises BenchError."""
    python = install()
    settings = {**SETTINGS, **overrides}
    processes = int(str(settings.pop("processes")))
    with (
        tempfile.TemporaryDirectory(prefix="tiptoe-bench-") as folder,
        tiptoe.fresh_home() as home,
        start_postgres(home, _quiet) as postgres,
        ExitStack() as stack,
    ):
        settings |= {
            "database": postgres.url.replace("postgresql://", "postgresql+asyncpg://"),
            "queue": "bench",
        }
        logs = [Path(folder) / f"crawlee-{n}.log" for n in range(processes)]
        children = [
            stack.enter_context(
                group([str(python), str(SPIDER), json.dumps(settings), *seeds[n::processes]], log=log, cwd=Path(folder))
            )
            for n, log in enumerate(logs)
        ]
        end = time.monotonic() + limit_s
        while time.monotonic() < end and any(map(is_running, children)):
            time.sleep(0.5)
        for child, log in zip(children, logs, strict=True):
            if not is_running(child):
                take_leave(child)
            if child.returncode:
                raise BenchError(f"crawlee failed: {tail(log)}")
        return all(child.returncode == 0 for child in children)


def _quiet(_: str) -> None:
    """The server has nothing to say here."""
