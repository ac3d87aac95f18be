"""The spider: `scrapy_spider.py SETTINGS-JSON xpath|css|extractor URL…`, run by Scrapy's own python.

Follows a[href] on the seeds' hosts, html only, and keeps nothing. Both ways of finding links find the same pages:
`xpath` and `css` join what a selector yields once per page and target; `extractor` is Scrapy's LinkExtractor, which
most spiders use and which is slower.
"""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urldefrag, urlsplit

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class Pages(Spider):
    """All pages of the seeds' hosts."""

    name = "pages"

    def __init__(self, seeds: list[str], links: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.css = links == "css"
        self.extractor = LinkExtractor(tags=("a",), attrs=("href",)) if links == "extractor" else None
        self.seeds = seeds
        self.hosts = {urlsplit(seed).netloc for seed in seeds}

    async def start(self) -> AsyncIterator[Request]:
        """The seeds, past no filter but the duplicate filter."""
        for seed in self.seeds:
            yield Request(seed)

    def parse(self, response: Response) -> Iterator[Request]:
        """Follow the page's links; Scrapy's duplicate filter drops those seen before."""
        content_type = response.headers.get("Content-Type") or b""
        if not isinstance(response, TextResponse) or not content_type.startswith(b"text/html"):
            return
        if self.extractor:
            links = {link.url for link in self.extractor.extract_links(response)}
        else:
            found = response.css("a::attr(href)") if self.css else response.xpath("//a/@href")
            links = {urldefrag(response.urljoin(href)).url for href in found.getall()}
        for link in sorted(links):
            if urlsplit(link).netloc in self.hosts:
                yield Request(link)


if __name__ == "__main__":
    process = CrawlerProcess(json.loads(sys.argv[1]))
    process.crawl(Pages, links=sys.argv[2], seeds=sys.argv[3:])
    process.start()
