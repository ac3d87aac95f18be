"""Workers of the queue `render`: `celery -A app worker -Q render`. A plain worker renders nothing."""

from celery import signals

from app.browser.values import BrowserProblem, Chromium
from app.celery import RENDER, app
from app.config import current
from app.features.render.serve import RenderService
from app.single import Single
from workers import process


@Single
def _service() -> RenderService:
    from app.browser.page import Browsers

    made: list[Browsers] = []

    def pool(chromium: Chromium) -> Browsers:
        made.append(Browsers(chromium.path))
        return made[-1]

    def close() -> None:
        for each in made:
            each.close()

    return RenderService(process.worker(), check=_check, pool=pool, close=close)


def _check() -> Chromium | BrowserProblem:
    """Find a browser, and have it render a page."""
    from app.browser.find import find, trial
    from app.metrics.machine import memory

    machine = memory()
    found = find(current().chromium, free_bytes=None if machine is None else machine.available)
    if isinstance(found, BrowserProblem):
        return found
    return trial(found) or found


@signals.worker_ready.connect
def _serve(**_: object) -> None:
    if RENDER in app.amqp.queues.consume_from:
        process.join_before_the_archive_closes(_service().join)  # pages that are open are read, and settled
        _service().start()
