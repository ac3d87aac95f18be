"""Serves the app with uvicorn on the place of the settings, until SIGINT or SIGTERM."""

from contextlib import closing

from app.config import Settings
from app.local import dashboard
from app.store import db

POOL = 6  # pages of many viewers; a stream holds none


def serve(settings: Settings) -> None:
    """Serve until a signal. Raises InputError, ServiceError."""
    import uvicorn

    from app.web import metrics
    from app.web.app import make_app

    dashboard.check(settings)
    assert settings.database_url is not None
    engine = db.connect(settings.database_url, pool_size=POOL)
    with closing(dashboard.bound(settings)) as listening:
        config = uvicorn.Config(
            make_app(settings, engine),
            log_level="warning",
            access_log=False,
            proxy_headers=False,  # the peer decides who a proxy is: app.web.users
            server_header=False,
            timeout_graceful_shutdown=2,  # streams never end by themselves
        )
        metrics.serve_beside(settings, engine)
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            engine.dispose()
