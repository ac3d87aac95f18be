"""Shells, turns that render them, and a stand-in for the browser at its own edge: it asks, and returns a document."""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine

from app.browser.values import (
    Answer,
    Ask,
    Bounds,
    BrowserDeath,
    PlainResponse,
    Refused,
    Rendering,
    ResourceKind,
    SubRequest,
)
from app.crawl.state.worker import Worker
from app.features.render.turn import Renders, RenderTurns, TurnEnding
from app.model.render import RenderEnding
from app.store import db, renders
from tests.crawl.web import Answer as SiteAnswer
from tests.store.rows import sql

SHELL = "<!doctype html><title>App</title><div id=root></div><script src=/app.js></script>"
TEXT = (
    "What the scripts of this page wrote is a paragraph of its own, and it is long enough to be a main text. "
    "Nobody who asks for the page without a browser ever sees a word of it, since the answer is an empty element. "
    "So a crawler that does not open it would know the title, and nothing else that its authors have to say."
)
DOCUMENT = (
    f"<!doctype html><html lang=en><title>Made</title><body><main><article><h1>Made</h1><p>{TEXT}</p>"
    "<p><a href=/made>further</a></p></article></main>"
)


def shell(scripts: Sequence[str] = ("/app.js",), **headers: str) -> SiteAnswer:
    tags = "".join(f"<script src={script}></script>" for script in scripts)
    body = f"<!doctype html><title>App</title><div id=root></div>{tags}"
    return SiteAnswer(headers={"Content-Type": "text/html", **headers}, body=body.encode())


def script(text: str = "run()", **headers: str) -> SiteAnswer:
    return SiteAnswer(headers={"Content-Type": "text/javascript", **headers}, body=text.encode())


@dataclass
class Stand:
    """Renders by asking for `asks`, in that order, and returning `html`. `got`: the answers.

    does  called while the page is open;   dies: what is returned instead
    """

    asks: Sequence[str | SubRequest] = ("/app.js",)
    html: str = DOCUMENT
    does: Callable[[], object] = lambda: None
    dies: BrowserDeath | None = None
    got: list[Answer | Refused] = field(default_factory=list)
    opened: list[PlainResponse] = field(default_factory=list)
    options: Mapping[str, object] = field(default_factory=dict)

    def render(
        self, plain: PlainResponse, ask: Ask, bounds: Bounds, *, user_agent: str, screenshot: bool = False
    ) -> Rendering | BrowserDeath:
        self.opened.append(plain)
        site = "/".join(plain.url.split("/")[:3])
        for each in self.asks:
            request = each if isinstance(each, SubRequest) else asked(each if "://" in each else site + each)
            self.got.append(ask(request))
        self.does()
        if self.dies is not None:
            return self.dies
        refused = [each.reason for each in self.got if isinstance(each, Refused)]
        return Rendering(
            **{  # type: ignore[arg-type]
                "html": self.html,
                "url": plain.url,
                "title": "Made",
                "ending": RenderEnding.QUIET,
                "wall_s": 0.5,
                "cpu_s": 0.1,
                "memory_bytes": 1,
                "asked": len(self.got),
                "answered": sum(isinstance(each, Answer) for each in self.got),
                "body_bytes": 0,
                "refused": {reason: refused.count(reason) for reason in set(refused)},
                **self.options,
            }
        )


def asked(
    url: str,
    resource: ResourceKind = ResourceKind.SCRIPT,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> SubRequest:
    return SubRequest(
        url=url,
        method=method,
        headers=headers or {},
        resource=resource,
        body=body,
        is_navigation=resource is ResourceKind.DOCUMENT,
    )


def turns(worker: Worker, browsers: Renders) -> RenderTurns:
    return RenderTurns(worker=worker, browsers=browsers, user_agent="Tiptoe/test")


def render(worker: Worker, browsers: Renders, *, most: int = 50) -> int:
    """Turns until nothing is due. Returns how many there were."""
    made = turns(worker, browsers)
    for n in range(most):
        if made.run() is TurnEnding.NOTHING:
            return n
    raise AssertionError(f"still due after {most} turns: {sql(worker.engine, 'SELECT url, state, cause FROM renders')}")


def there(engine: Engine, *, problem: str | None = None) -> None:
    """A worker of queue render is there."""
    with db.transaction(engine) as tx:
        renders.seen(tx, name="test:1", browser="156.0", problem=problem)


def rows(worker: Worker, text: str) -> list[Any]:
    """Rows of a query as named tuples."""
    return [namedtuple("Row", row)(**row) for row in sql(worker.engine, text)]  # its columns vary
