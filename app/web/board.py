"""The parts that every page needs: settings, engine, templates and the live pulse; and who is asking."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from starlette.requests import Request

from app.admin.audit import Audit
from app.admin.board.tally import CrawlTally
from app.config import Settings
from app.metrics.fleet import FleetPage
from app.store.fleet import FleetWatch
from app.web.checks import Checks
from app.web.once import Once
from app.web.pulse import Pulse
from app.web.users import Users, Viewer

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Shared by the pages of a process.

    fleet   the snapshot that pages, stream, probes and metrics render;   figures: for Prometheus
    checks  whether all is there that a crawl needs, looked at a moment ago
    counts  crawls in numbers;   exact: with every row counted
    proofs  of all hosts of a crawl
    """

    settings: Settings
    engine: Engine
    users: Users
    fleet: FleetWatch
    figures: FleetPage
    pulse: Pulse
    checks: Checks
    counts: Once[CrawlTally]
    exact: Once[CrawlTally]
    proofs: Once[Audit]
    templates: "Environment"


def board_of(request: Request) -> Board:
    """The process's board."""
    board: Board = request.app.state.board
    return board


def viewer_of(request: Request) -> Viewer:
    """The person who asks, as `app.web.guard` found out."""
    viewer: Viewer = request.scope["viewer"]
    return viewer
