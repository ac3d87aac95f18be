"""Serves the app with uvicorn on the place of the settings, until SIGINT or SIGTERM."""

import asyncio
import socket
from contextlib import closing

import structlog
import uvicorn
from starlette.applications import Starlette

from app.config import Settings
from app.errors import OtherSchema, ServiceError
from app.local import dashboard
from app.runtime.slow_clients import SlowClients
from app.store import db, migrate
from app.web import metrics
from app.web.app import make_app
from app.web.connection import WebConfig, WebConnection

_log = structlog.get_logger()
POOL = 6  # pages of many viewers; a stream holds none
GRACE_S = 2


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
            timeout_graceful_shutdown=GRACE_S,
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
    engine = db.connect(settings.database_url, pool_size=POOL, session_name="tiptoe web", may_spread=False)
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
        metrics.serve_beside(settings, app.state.board)
        try:
            server.run(sockets=[listening])
        finally:
            engine.dispose()
