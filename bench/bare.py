"""The bare loop, what network and HTML parser cost alone: two processes, requests + lxml, a visited set per host.

No robots.txt, no pauses, nothing kept, one host after the other: a ceiling for this language on this
machine, not a crawler. As a script (`python bare.py URL…`) it is one of the two processes.
"""

import os
import sys
from collections import deque
from collections.abc import Mapping
from urllib.parse import urldefrag, urljoin, urlsplit

import requests
from lxml import etree

PARSER = etree.HTMLParser()
LINKS = etree.XPath("//a/@href", smart_strings=False)


def crawl_host(session: requests.Session, seed: str) -> None:
    """Every html page reachable from the seed on its host, once."""
    host = urlsplit(seed).netloc
    todo, visited = deque([seed]), {seed}
    known: set[tuple[str, str]] = set()  # (folder, href) joined before: joining costs more than parsing
    while todo:
        url = todo.popleft()
        answer = session.get(url, timeout=30)
        if not answer.headers.get("Content-Type", "").startswith("text/html"):
            continue
        folder = url.rpartition("/")[0]
        for href in LINKS(etree.fromstring(answer.content, PARSER)):
            if (folder, href) in known:
                continue
            known.add((folder, href))
            link = urldefrag(urljoin(url, href)).url
            if link not in visited and urlsplit(link).netloc == host:
                visited.add(link)
                todo.append(link)


def run(seeds: list[str], timeout_s: float, *, env: Mapping[str, str] | None = None) -> None:
    """Two processes, the hosts dealt between them; env: beside ours. Raises BenchError."""
    from bench.children import together

    together("the bare loop", [[sys.executable, __file__, *seeds[n::2]] for n in range(2)], timeout_s, env=env)


if __name__ == "__main__":
    with requests.Session() as shared:
        shared.trust_env = False
        shared.verify = os.environ.get("SSL_CERT_FILE") or True
        for start in sys.argv[1:]:
            crawl_host(shared, start)
