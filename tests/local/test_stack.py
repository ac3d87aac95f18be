"""A crawl's own processes beside services that somebody else runs."""

import socket
import threading
from pathlib import Path

from structlog.testing import capture_logs

from app.local.services import Services
from app.local.stack import RenderDemand, Stack
from tests.crawl import loop


def test_a_home_that_is_not_there_is_made_for_their_logs(database_url: str, broker_url: str, tmp_path: Path) -> None:
    """Where Postgres and the broker are configured nothing else has made it."""
    home = tmp_path / "new"
    services = Services(database_url=database_url, broker_url=broker_url, home=home, data_dir=home, started=())
    with Stack(loop.make_settings(database_url, broker_url=broker_url, home=home), services) as stack:
        stack.tend()
    assert (home / "logs" / "beat.log").is_file()


def test_a_database_that_is_away_is_said_once_by_what_looks_for_pages_to_render(tmp_path: Path) -> None:
    """It is looked at every second, and an outage may take an hour."""
    with socket.create_server(("127.0.0.1", 0)) as server, capture_logs() as logs:
        url = f"postgresql://who@127.0.0.1:{server.getsockname()[1]}/db?sslmode=disable"
        demand, looks, is_done = RenderDemand(loop.make_settings(url, home=tmp_path), url), [0], threading.Event()

        def hang_up() -> None:
            while not is_done.is_set():
                server.accept()[0].close()
                looks[0] += 1

        answers = threading.Thread(target=hang_up)
        answers.start()
        while looks[0] < 3:
            demand.look()
            is_done.wait(0.05)
        demand.stop()
        is_done.set()
        socket.create_connection(server.getsockname()).close()
        answers.join()
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["render.not_asked"]
