"""Serves the app with uvicorn on the place of the settings, until SIGINT or SIGTERM.

uvicorn itself waits for ever for the rest of a head, for a body, and for a client that reads its answer. Its
`limit_concurrency` answers everybody 503 beyond a number. Our connection waits for so long, beside so many others.
"""

import asyncio
import socket
from contextlib import closing
from typing import Any, Final

import h11
import structlog
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.config import Settings
from app.errors import OtherSchema, ServiceError
from app.local import dashboard
from app.runtime.slow_clients import SlowClients, WaitsFor, has_unread
from app.store import db, migrate
from app.web.app import make_app, serve_beside

_log = structlog.get_logger()
_WAITS: Final = {h11.IDLE: WaitsFor.HEAD, h11.SEND_BODY: WaitsFor.BODY}  # by what the client is to do


class WebConfig(uvicorn.Config):
    """uvicorn's settings, with the clients that all connections share."""

    def __init__(self, app: Any, clients: "SlowClients[WebConnection]", **settings: Any) -> None:
        self.clients = clients
        self._will_close = False
        super().__init__(app, http=WebConnection, ws="none", **settings)

    def close_due(self, now: float) -> None:
        """Close clients that had their time, and those beyond the number."""
        self._will_close = False
        for each in self.clients.due(now, WebConnection.has_unread):
            each.transport.abort()

    def close_crowd(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close a crowd before the next tick. Of many that arrive between two looks at the sockets one chooses."""
        if self.clients.is_crowded and not self._will_close:
            self._will_close = True
            loop.call_soon(lambda: self.close_due(loop.time()))


class _Parser(h11.Connection):
    """h11's parser. It takes no chunked request, which no browser sends: a chunk costs more to read than to send."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request) and any(name == b"transfer-encoding" for name, _ in event.headers):
            raise h11.RemoteProtocolError("a request is not read in chunks", error_status_hint=411)
        return event


class WebConnection(H11Protocol):
    """uvicorn's connection. It is with `SlowClients` as long as the server waits for its client."""

    config: WebConfig

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        self.conn = _Parser(h11.SERVER)
        self._waits_for: WaitsFor | None = None
        self._is_kept_alive = False
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # an octet that is not taken counts as an answer that nobody reads
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._is_kept_alive = True
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.clients.forget(self)
        super().connection_lost(exc)

    def has_unread(self) -> bool:
        """Whether octets have arrived that the event loop has not read."""
        return has_unread(self.transport.get_extra_info("socket").fileno())

    def _look(self) -> None:
        """Note what it waits for now. A part of it does not begin the time anew, a whole one does."""
        waits_for, is_begun = self._wait()
        clients = self.config.clients
        if waits_for != self._waits_for:
            self._waits_for = waits_for
            if waits_for is None:
                clients.forget(self)
                return
            clients.wait(self, self.client[0] if self.client else "", self.loop.time(), waits_for)
        if is_begun:
            clients.begin(self)
        self.config.close_crowd(self.loop)

    def _wait(self) -> tuple[WaitsFor | None, bool]:
        """The act of the client that is waited for, and whether a part of it was read."""
        if self.flow.write_paused:
            return WaitsFor.ANSWER, True
        waits_for = _WAITS.get(self.conn.their_state)
        if waits_for is not WaitsFor.HEAD:
            return waits_for, waits_for is self._waits_for
        is_begun = bool(self.conn.trailing_data[0])
        return (WaitsFor.NEXT if self._is_kept_alive and not is_begun else WaitsFor.HEAD), is_begun


class WebServer(uvicorn.Server):
    """A server of our app that closes slow clients, and at its end the streams first: they never end by themselves."""

    def __init__(self, app: Starlette, clients: SlowClients[WebConnection] | None = None) -> None:
        self._app = app
        self._config = WebConfig(
            app,
            clients or SlowClients(),
            log_level="warning",
            access_log=False,
            proxy_headers=False,  # the peer decides who a proxy is: app.web.users
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        super().__init__(self._config)

    async def on_tick(self, counter: int) -> bool:
        """Close slow clients, ten times a second."""
        self._config.close_due(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._app.state.board.pulse.close()
        await super().shutdown(sockets)


def serve(settings: Settings) -> None:
    """Serve until a signal. Raises InputError, ServiceError, and OtherSchema as workers and beat do.

    Without a database that answers it begins, and says so on its pages."""
    dashboard.check(settings)
    assert settings.database_url is not None
    # Pages of many viewers; a stream holds none.
    engine = db.connect(settings.database_url, pool_size=6, session_name="tiptoe web", may_spread=False)
    try:
        migrate.require(engine)
    except OtherSchema:
        engine.dispose()
        raise
    except ServiceError as error:
        _log.warning("schema.unknown", error=str(error))
    app = make_app(settings, engine)
    server = WebServer(app)
    with closing(dashboard.bound(settings)) as listening, dashboard.noted(settings):
        serve_beside(settings, app.state.board)
        try:
            server.run(sockets=[listening])
        finally:
            engine.dispose()
