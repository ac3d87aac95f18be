"""What a rendered page costs: CPU, memory, requests, beside Playwright; and what is held after many pages.

    python -m bench.rendering [pages]        default 1000

The pages are those of `tests/browser/web`, answered from memory: no server and no delay is in the figures. CPU is the
kernel's, of all processes of the browser; of Playwright, with its driver. Both open a context a page, with the same
Chromium. Playwright waits for its "networkidle", and neither scrolls nor reads frames.
"""

import gc
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from typing import NamedTuple

from app.browser.find import find
from app.browser.page import Browsers
from app.browser.process import FLAGS, measure
from app.browser.values import Answer, Bounds, BrowserProblem, Chromium, Rendering
from tests.browser.processes import below, status
from tests.browser.site import Site, plain, respond

PATHS = ("/hydration/", "/react/", "/frames/", "/workers/", "/scroll/")
ROUNDS = 7
MARKS = (10, 100, 300, 1_000, 3_000, 10_000)


class Cost(NamedTuple):
    """One page: seconds by the clock; CPU of the browser's processes and of ours; bytes; requests."""

    wall_s: float
    browser_s: float
    own_s: float
    memory_bytes: float
    asked: float


def main(pages: int) -> None:
    chromium = find(None)
    if isinstance(chromium, BrowserProblem):
        sys.exit(chromium.line)
    print(f"Chromium {chromium.version}; medians of {ROUNDS}\n")
    print(
        "| page | by | s | CPU s, browser | CPU s, own | MB | requests |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    browsers = Browsers(chromium.path)
    for path in PATHS:
        show(path, "Tiptoe", repeated(partial(ours, browsers, path)))
    browsers.close()
    with_playwright(chromium, "Playwright", [])
    quiet = next(flag for flag in FLAGS if flag.startswith("--disable-features"))
    with_playwright(chromium, "Playwright, with our features off", [quiet])
    many(chromium, pages)


def repeated(once: Callable[[], Cost]) -> Cost:
    once()
    found = [once() for _ in range(ROUNDS)]
    return Cost(*(median(each) for each in zip(*found, strict=True)))


def show(path: str, by: str, cost: Cost) -> None:
    cpu = f"{cost.browser_s:.2f} | {cost.own_s:.3f}"
    figures = f"{cost.wall_s:.2f} | {cpu} | {cost.memory_bytes / 1e6:.0f} | {cost.asked:.0f}"
    print(f"| `{path}` | {by} | {figures} |", flush=True)


def ours(browsers: Browsers, path: str) -> Cost:
    before = own_s()
    found = browsers.render(plain(path), Site(), Bounds(), user_agent="Tiptoe")
    assert isinstance(found, Rendering), found
    return Cost(found.wall_s, found.cpu_s, own_s() - before, found.memory_bytes, found.asked)


def own_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def with_playwright(chromium: Chromium, by: str, switches: list[str]) -> None:
    """The same pages by Playwright, from the same answers. It waits for shared workers for ever."""
    from playwright.sync_api import Route, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path, args=["--no-sandbox", *switches])
        (driver,) = (pid for pid in below() if int(status(pid)["PPid"]) == os.getpid())

        def once(path: str) -> Cost:
            asked = 0

            def fulfil(route: Route) -> None:
                nonlocal asked
                asked += 1
                answer: Answer = respond(route.request.url)
                route.fulfill(status=answer.status, headers=dict(answer.headers), body=answer.body)

            began, before, own = time.monotonic(), measure(os.getpid()), own_s()
            context = browser.new_context(service_workers="block")
            page = context.new_page()
            page.route("**/*", fulfil)
            page.goto(f"http://site.test{path}", wait_until="networkidle")
            page.content()
            used = measure(os.getpid())
            context.close()
            return Cost(time.monotonic() - began, used.cpu_s - before.cpu_s, own_s() - own, used.memory_bytes, asked)

        for path in (path for path in PATHS if path != "/workers/"):
            show(path, by, repeated(partial(once, path)))
        print(f"| the driver alone | {by} | | | | {int(status(driver)['VmRSS'].split()[0]) / 1e3:.0f} | |")
        browser.close()


def many(chromium: Chromium, pages: int) -> None:
    """Memory and processes after so many pages, two browsers at a time."""
    browsers = Browsers(chromium.path)
    began = time.monotonic()
    print("\n| pages | pages/s | MB, own | MB, browsers | processes | deaths |\n| --- | --- | --- | --- | --- | --- |")
    deaths = done = 0
    with ThreadPoolExecutor(2) as threads:
        for mark in [*(mark for mark in MARKS if mark < pages), pages]:
            paths = [PATHS[n % 3] for n in range(done, mark)]
            found = threads.map(lambda path: browsers.render(plain(path), Site(), Bounds(), user_agent="Tiptoe"), paths)
            deaths += sum(not isinstance(each, Rendering) for each in found)
            done = mark
            gc.collect()
            used, own = measure(os.getpid()), int(status(os.getpid())["VmRSS"].split()[0]) / 1e3
            rate = done / (time.monotonic() - began)
            print(
                f"| {done:,} | {rate:.2f} | {own:.0f} | {used.memory_bytes / 1e6:.0f} | {len(used.pids)} | {deaths} |",
                flush=True,
            )
    browsers.close()
    print(f"\nafter the close: {len(below())} processes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
