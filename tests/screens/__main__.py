"""Take the pictures of the docs anew: `make screens`. A crawl of a small web on loopback, and what the commands say of
it.

Each is a command in a terminal of 80 columns, drawn into docs/screens/. They differ from run to run in times and
numbers. The dashboard's is taken by Chromium.
"""

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.crawl.web import NETWORKS
from tests.screens import dashboard, sites
from tests.screens.terminal import drawing, screens

TARGET = Path(__file__).parents[2] / "docs" / "screens"
PORT = 80
BIN = Path(sys.executable).parent
ENOUGH_PAGES = 60

CRAWL = "tiptoe crawl {docs}/ --scope any --max-pages 120 --name week"
# Picture → what is typed, after the crawl.
COMMANDS = {
    "status": "tiptoe status",
    "why": "tiptoe url why {docs}/private/drafts",
    "audit": "tiptoe audit week",
    "sql": 'tiptoe sql "SELECT title, url FROM pages ORDER BY fetched_at DESC LIMIT 8"',
}


def bare_env() -> dict[str, str]:
    """The environment without settings, with our commands."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")}
    return {**kept, "PATH": f"{BIN}:{os.environ['PATH']}"}


def take(folder: Path, port: int, *, is_enough: Callable[[str], bool], **settings: str) -> None:
    """is_enough: the first screen of the live view that is worth a picture. settings: of the environment."""
    with sites.sites(port) as found, tempfile.TemporaryDirectory(prefix="tiptoe-") as home:
        Path(home).chmod(0o711)  # as root, Postgres runs as nobody
        env = {
            **bare_env(),
            "TIPTOE_CONSTANT_SERVICES_STAY_S": "0",
            "TIPTOE_HOME": f"{home}/home",
            "TIPTOE_ALLOW_NETWORKS": NETWORKS,
            "TIPTOE_CONTACT": "you@example.org",
            "TIPTOE_RESOLVE": ",".join(f"{host}={site.host}" for host, site in found.items()),
            **settings,
        }
        docs = sites.url("docs.example", "", found["docs.example"].port)
        folder.mkdir(exist_ok=True)
        _draw(folder / "live.svg", CRAWL.format(docs=docs), _live(CRAWL.format(docs=docs), env, is_enough))
        for name, command in COMMANDS.items():
            *_, shown = screens(shlex.split(command.format(docs=docs)), env)
            _draw(folder / f"{name}.svg", command.format(docs=docs), shown)


def _live(command: str, env: dict[str, str], is_enough: Callable[[str], bool]) -> str:
    """The first screen that is enough. The command runs to its end."""
    found = [shown for shown in screens(shlex.split(command), env) if is_enough(shown)]
    if not found:
        raise RuntimeError(f"never: a screen of {command} that is worth a picture")
    return found[0]


def _draw(path: Path, command: str, shown: str) -> None:
    path.write_text(drawing(command, shown))
    print(path)


def is_busy(shown: str) -> bool:
    """Some pages are in, and hosts wait for different things."""
    pages = re.search(r"pages +(\d+)", shown)
    return pages is not None and int(pages[1]) >= ENOUGH_PAGES and "its rest" in shown


if __name__ == "__main__":
    take(TARGET, PORT, is_enough=is_busy)
    dashboard.take(TARGET / "dashboard.png", bare_env(), pages=ENOUGH_PAGES)
