"""A peer of `bench.rendering_peers`: opens so many pages in a browser, one at a time, and reads their documents.

Run as a script by the python of bench/.venv-rendering: `rendering_peer.py scrapy|crawlee CHROMIUM URL PAGES`.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any


def by_scrapy(chromium: str, urls: list[str]) -> None:
    import scrapy
    from scrapy.crawler import CrawlerProcess

    class Pages(scrapy.Spider):
        name = "pages"

        async def start(self) -> AsyncIterator[scrapy.Request]:
            for url in urls:
                meta = {"playwright": True, "playwright_page_goto_kwargs": {"wait_until": "networkidle"}}
                yield scrapy.Request(url, meta=meta)

        def parse(self, response: Any) -> Iterator[dict[str, int]]:
            yield {"characters": len(response.text)}

    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    process = CrawlerProcess(
        {
            "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
            "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": chromium, "args": ["--no-sandbox"]},
            "CONCURRENT_REQUESTS": 1,
            "ROBOTSTXT_OBEY": True,
            "LOG_LEVEL": "ERROR",
        }
    )
    process.crawl(Pages)
    process.start()


async def by_crawlee(chromium: str, urls: list[str]) -> None:
    from crawlee import ConcurrencySettings
    from crawlee.configuration import Configuration
    from crawlee.crawlers import PlaywrightCrawler, PlaywrightCrawlingContext
    from crawlee.storage_clients import MemoryStorageClient

    crawler = PlaywrightCrawler(
        # It slows itself down when the machine is busy.
        configuration=Configuration(
            max_used_cpu_ratio=1.0, max_used_memory_ratio=1.0, max_event_loop_delay=timedelta(seconds=60)
        ),
        storage_client=MemoryStorageClient(),
        browser_launch_options={"executable_path": chromium, "args": ["--no-sandbox"], "headless": True},
        concurrency_settings=ConcurrencySettings(min_concurrency=1, max_concurrency=1, desired_concurrency=1),
        respect_robots_txt_file=True,
        max_request_retries=0,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def read(context: PlaywrightCrawlingContext) -> None:
        await context.page.wait_for_load_state("networkidle")
        await context.page.content()

    await crawler.run(urls)


if __name__ == "__main__":
    _, peer, chromium, url, pages = sys.argv
    urls = [f"{url}?n={n}" for n in range(int(pages))]
    if peer == "scrapy":
        by_scrapy(chromium, urls)
    else:
        asyncio.run(by_crawlee(chromium, urls))
