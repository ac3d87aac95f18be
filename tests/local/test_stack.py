"""A crawl's own processes beside services that somebody else runs."""

from pathlib import Path

from app.local.services import Services
from app.local.stack import Stack
from tests.crawl import loop


def test_a_home_that_is_not_there_is_made_for_their_logs(database_url: str, broker_url: str, tmp_path: Path) -> None:
    """Where Postgres and the broker are configured nothing else has made it."""
    home = tmp_path / "new"
    services = Services(database_url=database_url, broker_url=broker_url, home=home, data_dir=home, started=())
    with Stack(loop.make_settings(database_url, broker_url=broker_url, home=home), services) as stack:
        stack.tend()
    assert (home / "logs" / "beat.log").is_file()
