"""One of the Crawlee processes: follows every link within its page's host, keeps nothing but its queue, which is in
Postgres.

Run as a script by the python of bench/.venv-crawlee: `crawlee_spider.py SETTINGS URL…`, SETTINGS a JSON object as in
crawlee_run.SETTINGS, with `database` and `queue` besides. Several share one queue.
"""

import asyncio
import json
import logging
import sys
import warnings
from datetime import timedelta
from typing import Any

from crawlee import ConcurrencySettings, service_locator
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import CurlImpersonateHttpClient, HttpxHttpClient, ImpitHttpClient
from crawlee.storage_clients import SqlStorageClient
from crawlee.storages import RequestQueue
from sqlalchemy.ext.asyncio import create_async_engine

CLIENTS = {"httpx": HttpxHttpClient, "impit": ImpitHttpClient, "curl": CurlImpersonateHttpClient}


async def crawl(settings: dict[str, Any], seeds: list[str]) -> None:
    """Until the queue is empty."""
    engine = create_async_engine(settings["database"], pool_size=settings["pool"], max_overflow=10)
    storage = SqlStorageClient(engine=engine)
    configuration = Configuration(
        purge_on_start=False,
        # It slows itself down when the machine is busy, as it always is here.
        max_used_cpu_ratio=1.0,
        max_used_memory_ratio=1.0,
        max_event_loop_delay=timedelta(seconds=60),
    )
    service_locator.set_configuration(configuration)
    service_locator.set_storage_client(storage)
    concurrency = settings["concurrency"]
    crawler = ParselCrawler(
        request_manager=await RequestQueue.open(name=settings["queue"]),
        http_client=CLIENTS[settings["http_client"]](verify=settings.get("verify", True)),
        respect_robots_txt_file=True,
        use_session_pool=False,
        retry_on_blocked=False,
        max_request_retries=0,
        configure_logging=False,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=concurrency, max_concurrency=concurrency, desired_concurrency=concurrency
        ),
    )

    @crawler.router.default_handler
    async def follow(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="same-hostname")

    await crawler.run(seeds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.basicConfig(level=logging.ERROR)
    asyncio.run(crawl(json.loads(sys.argv[1]), sys.argv[2:]))
