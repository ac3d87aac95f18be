"""A Prometheus of a test's own, with the files that we ship: the place of `tiptoe web` and the times are the test's."""

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import until
from tests.acceptance.test_fleet import free_port

SHIP = Path(__file__).parents[2] / "app" / "metrics" / "ship"
MISSING = "Prometheus is not installed (Debian and Ubuntu: apt-get install prometheus)"
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None, reason=MISSING
)


class Prometheus:
    """Its HTTP API."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def ask(self, query: str) -> list[tuple[dict[str, str], float]]:
        """(labels, value) of an expression, now."""
        encoded = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{encoded}", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        assert found["data"]["resultType"] == "vector"
        return [(each["metric"], float(each["value"][1])) for each in found["data"]["result"]]

    def number(self, query: str) -> float | None:
        """The value of an expression that has one; None: it has none yet."""
        return next((value for _, value in self.ask(query)), None)

    def firing(self) -> set[str]:
        return {labels["alertname"] for labels, _ in self.ask('ALERTS{alertstate="firing"}')}


@contextmanager
def run_prometheus(folder: Path, web: str) -> Iterator[Prometheus]:
    """Run it: scrapes and rules every second, and no rule waits for longer than 3 s.   web: host:port"""
    config = (SHIP / "prometheus.yml").read_text()
    config = re.sub(r"interval: 15s", "interval: 1s", config).replace("web:9190", web)
    (folder / "prometheus.yml").write_text(config)
    (folder / "alerts.yml").write_text(re.sub(r"for: \d+m", "for: 3s", (SHIP / "alerts.yml").read_text()))
    port = free_port()
    command = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}"], cwd=folder, stdout=log, stderr=log
        )
        try:
            found = Prometheus(port)
            until(found.is_up, "Prometheus is ready")
            yield found
        finally:
            process.terminate()
            process.wait(30)
