"""One page: opened in a context of its own, watched until it is at rest or at a bound, read, and closed.

`PageRest` judges when a page is done: its requests are answered, its document is still, and scrolling brings no more
text.

Browsers, kept between pages: one page at a time in each, started when they are needed, and retired when worn.
"""

import time
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import structlog

from app.browser.connection import BrowserGone, BrowserHung, PageChannel
from app.browser.process import BUSY, BrowserProcess, NotStarted, Wear
from app.browser.requests import Traffic, hints
from app.browser.targets import Targets
from app.browser.values import Ask, Bounds, BrowserDeath, BrowserProblem, PlainResponse, Rendering
from app.model.render import RenderEnding, RenderRefusal
from app.sandbox.child import ProcessPool

STILL_S: Final = 0.5  # without a request or a change; browsers' own "network idle" is the same
SHORT_STILL_S: Final = 2.0  # while there is hardly any text: its scripts may be about to begin
BLANK_STILL_S: Final = 4.0  # while there is none at all: nobody makes a page to show nothing
RESTLESS_S: Final = 3.0  # without a request: a clock or a ticker changes the document for ever
PROBE_S: Final = 0.1
PROBE_SHARE: Final = 5  # a look at a large document takes long: then no more than a fifth of the time is spent looking
SCROLLS_MOST: Final = 10
SLOW: Final = 10  # looks: a browser that takes long to answer one, on a busy machine, takes long for all that it does
FORGETS: Final = 0.5  # of the longest look, with each further one
LEAST_S: Final = 15.0  # that a page has, however late its browser is there


class PageRest:
    """Looks at one page again and again, without waiting for it: a script may keep it busy."""

    def __init__(self, channel: PageChannel, targets: Targets, traffic: Traffic) -> None:
        self._channel, self._targets, self._traffic = channel, targets, traffic
        self._asked_at = self._next_at = 0.0
        self._took_s = 0.0
        self._is_asking = self._is_scrolling = False
        self._seen: Mapping[str, Any] | None = None
        self._scrolls = 0
        self._text_before = -1

    def is_reached(self) -> bool:
        """Whether the page is done. Looks again, and scrolls, as it is called."""
        now = time.monotonic()
        if not self._traffic.is_idle or self._is_scrolling:
            return False
        self._probe(now)
        seen, self._seen = self._seen, None  # one look is judged once
        if seen is None or not seen["is_parsed"]:
            return False
        quiet_s = now - self._traffic.changed_at
        needed_s = max(self._still_s(seen), min(self._took_s * SLOW, RESTLESS_S))
        if quiet_s >= max(needed_s, RESTLESS_S):
            return self._has_all(seen, now)
        if not seen["is_loaded"] or min(quiet_s, seen["still_ms"] / 1000) < needed_s:
            return False
        return self._has_all(seen, now)

    def _still_s(self, seen: Mapping[str, Any]) -> float:
        """Seconds that it has to be still, by how much it shows. One that wanted to go elsewhere is done."""
        if self._traffic.navigated_to is not None or not seen["is_short"]:
            return STILL_S
        return BLANK_STILL_S if seen["is_blank"] else SHORT_STILL_S

    def _probe(self, now: float) -> None:
        world = self._targets.world()
        if world is None or self._is_asking or now < self._next_at:
            return
        self._is_asking, self._asked_at = True, now
        self._evaluate("tiptoe.rest()", world, self._found)

    def _found(self, answer: Mapping[str, Any] | None) -> None:
        self._is_asking = False
        took_s = time.monotonic() - self._asked_at
        self._took_s = max(took_s, self._took_s * FORGETS)
        self._next_at = self._asked_at + max(PROBE_S, PROBE_SHARE * took_s)
        self._seen = None if answer is None else answer["result"].get("value")

    def _has_all(self, seen: Mapping[str, Any], now: float) -> bool:
        """Whether the end was scrolled to without more text. Else scroll there, and let the page go on."""
        if self._scrolls >= SCROLLS_MOST or seen["text"] <= self._text_before:
            return True
        world = self._targets.world()
        if world is None:  # it reloads itself: what was seen is gone
            return False
        self._text_before = seen["text"]
        self._scrolls += 1
        self._is_scrolling = True
        self._evaluate("tiptoe.scroll()", world, self._scrolled)
        return False

    def _scrolled(self, answer: Mapping[str, Any] | None) -> None:
        """Wait for what the end of the page loads. Without an end to scroll to, the next look settles it.

        A look that was under way when it was told to scroll saw the page before.
        """
        self._is_scrolling, self._seen = False, None
        if answer is not None and answer["result"].get("value"):
            self._traffic.changed_at = time.monotonic()

    def _evaluate(self, expression: str, world: int, found: Any) -> None:
        self._channel.send(
            "Runtime.evaluate",
            self._targets.main,
            found,
            expression=expression,
            contextId=world,
            returnByValue=True,
            awaitPromise=True,
        )


READ_S: Final = 8.0  # to hand the document over after the deadline; scripts are stopped then
CLOSE_S: Final = 2.0  # of READ_S: to drop the page
_log = structlog.get_logger()


class _TooMuchMemory(Exception):
    """The browser holds more than the page may take."""


class OpenPage:
    """A page in a browser. Used once, by one thread."""

    def __init__(
        self, browser: BrowserProcess, plain: PlainResponse, ask: Ask, bounds: Bounds, user_agent: str
    ) -> None:
        self._browser, self._plain, self._bounds = browser, plain, bounds
        self._began_at = time.monotonic()
        self._deadline = self._began_at + bounds.wall_s
        self._channel = PageChannel(browser.connection, self._deadline + READ_S)
        self._traffic = Traffic(self._channel, plain, ask, bounds)
        self._targets = Targets(self._channel, self._traffic, user_agent)
        self._rest = PageRest(self._channel, self._targets, self._traffic)
        self._channel.on_event = self._targets.on_event
        self._channel.on_turn = self._look
        self._before = browser.use()
        self._most_bytes = self._before.memory_bytes
        self._measured_at = self._began_at
        self._context: str | None = None
        self._not_taken: str | None = None  # why Chromium does not show the answer: it would save it, for example

    def render(self, screenshot: bool) -> Rendering | BrowserDeath:
        """Render it. After a death the browser is killed. Raises what `Ask` raised, with the page closed."""
        self._browser.connection.quieten()
        found: Rendering | BrowserDeath | None
        try:
            self._open()
            ending = self._watched()
            self._stop()
            found = None if self._traffic.failure else self._read(ending, screenshot)
            self._close()
        except BrowserGone as gone:
            found = self._died(gone)
        except _TooMuchMemory:
            self._browser.end()
            limit_mb = self._bounds.memory_bytes // 10**6
            found = BrowserDeath(cause=f"page took more than {limit_mb:,} MB", is_proof=True)
        finally:
            self._traffic.close()
        if self._traffic.failure is not None:
            raise self._traffic.failure
        assert found is not None
        return found

    def _open(self) -> None:
        call = self._channel.call
        context = _result(call("Target.createBrowserContext", None, disposeOnDetach=True))["browserContextId"]
        self._context = context
        call("Browser.setDownloadBehavior", None, behavior="deny", browserContextId=context, eventsEnabled=True)
        call("Browser.grantPermissions", None, permissions=[], browserContextId=context)  # and all others are denied
        made = call("Target.createTarget", None, url="about:blank", browserContextId=context)
        self._targets.expect(context, _result(made)["targetId"])
        while not self._targets.main:
            self._turn()
        # A document that comes before all of it is in force would have no world of ours.
        call("Runtime.evaluate", self._targets.main, expression="0")
        self._channel.send("Page.navigate", self._targets.main, self._navigated, url=self._plain.url)

    def _navigated(self, answer: Mapping[str, Any] | None) -> None:
        self._not_taken = "it cannot go there" if answer is None else answer.get("errorText")

    def _watched(self) -> RenderEnding:
        """Wait until it is at rest, or at a bound."""
        while not self._rest.is_reached():
            if time.monotonic() >= self._deadline:
                return RenderEnding.DEADLINE
            if self._traffic.is_flood:
                return RenderEnding.REQUESTS
            if self._traffic.failure is not None:
                break
            self._turn()
        if self._traffic.navigated_to is not None:
            return RenderEnding.NAVIGATED
        if self._traffic.refused[RenderRefusal.BYTES]:
            return RenderEnding.BYTES
        return RenderEnding.REQUESTS if self._traffic.refused[RenderRefusal.REQUESTS] else RenderEnding.QUIET

    def _turn(self) -> None:
        self._channel.turn()
        if time.monotonic() >= self._channel.until:
            raise BrowserHung("it did not open the page in time")

    def _look(self) -> None:
        """Look after the browser, whatever is waited for: a page may fill the memory while it is read, too."""
        if self._targets.crash:
            raise BrowserGone(f"its renderer is gone: {self._targets.crash}")
        if self._not_taken is not None:
            raise BrowserGone(f"it did not take the answer: {self._not_taken}")
        now = time.monotonic()
        if now - self._measured_at >= 0.25:
            self._measured_at = now
            self._most_bytes = max(self._most_bytes, self._browser.memory_bytes())
            if self._most_bytes > self._bounds.memory_bytes:
                raise _TooMuchMemory

    def _stop(self) -> None:
        """Stop scripts, requests and loads, so that the document can be read even while a script runs without end."""
        for session in self._targets.sessions:
            self._channel.send("Emulation.setScriptExecutionDisabled", session, value=True)
        self._targets.interrupt()
        self._traffic.stop()
        self._channel.until = time.monotonic() + READ_S

    def _read(self, ending: RenderEnding, screenshot: bool) -> Rendering:
        most = self._bounds.dom_bytes
        world = self._targets.world()
        if world is None:
            raise BrowserGone("it showed no document")
        page = self._evaluated(self._targets.main, world, f"tiptoe.read({most})", until=self._channel.until)
        if page is None:
            raise BrowserHung("it gave no document")
        # Pages that say that a site cannot be reached: no document of the site's.
        if page["url"].startswith("chrome-error:"):
            raise BrowserGone("it did not take the answer, and showed an error of its own")
        frames = self._frames(most)
        html, is_cut = _cut(_with_frames(page["html"], frames), most)
        in_documents = sum(each["hints"] for each in (page, *frames))
        self._traffic.refuse(RenderRefusal.PRECONNECT, in_documents + hints(self._plain.headers))
        use = self._browser.use()
        return Rendering(
            html=html,
            url=page["url"],
            title=page["title"],
            ending=RenderEnding.DOM if is_cut or page["is_cut"] else ending,
            wall_s=time.monotonic() - self._began_at,
            cpu_s=max(use.cpu_s - self._before.cpu_s, 0.0),
            memory_bytes=max(self._most_bytes, use.memory_bytes),
            asked=self._traffic.asked,
            answered=self._traffic.answered,
            body_bytes=self._traffic.body_bytes,
            refused=dict(self._traffic.refused),
            navigated_to=self._traffic.navigated_to,
            routes=tuple(self._targets.seen.routes),
            console_errors=tuple(self._targets.seen.errors),
            screenshot=self._screenshot() if screenshot else None,
        )

    def _frames(self, most: int) -> list[Mapping[str, Any]]:
        """Bodies of frames that have a process of their own, as far as there is time: one may be busy for ever."""
        found = []
        for session, world in self._targets.others():
            read = self._evaluated(session, world, f"tiptoe.readFrame({most})", until=self._channel.until - CLOSE_S)
            if read is not None and read["html"]:
                found.append(read)
        return found

    def _evaluated(self, session: str, world: int, expression: str, *, until: float) -> Mapping[str, Any] | None:
        """Evaluate it in our world, until then. Scripts that began before they were forbidden are interrupted again."""
        # After each, what runs is interrupted: a script, or a reading that takes long.
        for patience_s in (1.0, 2.0, 4.0):
            if time.monotonic() >= until:
                break
            answers: list[Mapping[str, Any] | None] = []
            params = {"expression": expression, "contextId": world, "returnByValue": True}
            self._channel.send("Runtime.evaluate", session, answers.append, **params)
            patient_until = min(time.monotonic() + patience_s, until)
            while not answers and time.monotonic() < patient_until:
                self._channel.turn()
            if answers and answers[0] is None:
                return None  # its document went away
            if answers and answers[0] and "value" in answers[0]["result"]:
                found: Mapping[str, Any] = answers[0]["result"]["value"]
                return found
            self._targets.interrupt()
        return None

    def _screenshot(self) -> bytes | None:
        answer = self._channel.call("Page.captureScreenshot", self._targets.main, format="png")
        return None if answer is None else b64decode(answer["data"])

    def _close(self) -> None:
        """Drop the context: with it go the page, its workers, and all that they stored.

        A browser that does not do it in time is killed. What was read of the page stands.
        """
        self._channel.on_event, self._channel.on_turn = lambda message: None, lambda: None
        try:
            self._channel.call("Target.disposeBrowserContext", None, browserContextId=self._context)
        except BrowserGone as gone:
            self._browser.end()
            _log.warning("browser.not_closed", url=self._plain.url, cause=str(gone))
        else:
            self._browser.pages += 1

    def _died(self, gone: BrowserGone) -> BrowserDeath:
        """Judge a death: a page that crashed its renderer, or used up most of a processor, is its own cause.

        Until its document is shown none of its scripts has run: then the machine is the cause.
        """
        use = self._browser.use() if self._browser.is_alive else self._before
        wall_s = time.monotonic() - self._began_at
        self._browser.end()
        _log.warning("browser.died", url=self._plain.url, cause=str(gone), wall_s=round(wall_s, 1))
        cause = f"browser died: {gone}"
        if self._targets.crash and self._targets.crash != "killed":  # by an operator, or a kernel without memory
            return BrowserDeath(cause=cause, is_proof=True)
        if not self._targets.is_shown and self._not_taken is None:
            problem = BrowserProblem(f"Chromium showed no page: {gone}", BUSY, is_slowness=True)
            return BrowserDeath(cause=cause, problem=problem)
        is_proof = isinstance(gone, BrowserHung) and use.cpu_s - self._before.cpu_s > wall_s / 2
        return BrowserDeath(cause=cause, is_proof=is_proof)


def _result(answer: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if answer is None:
        raise BrowserGone("it opened no page")
    return answer


def _with_frames(html: str, frames: list[Mapping[str, Any]]) -> str:
    """The document, with frames of other origins at its end."""
    if not frames:
        return html
    boxes = "".join(frame["html"] for frame in frames)
    before, end, after = html.rpartition("</body>")
    return f"{before}{boxes}{end}{after}" if end else html + boxes


def _cut(html: str, most: int) -> tuple[str, bool]:
    body = html.encode("utf-8", "replace")
    return body[:most].decode("utf-8", "ignore"), len(body) > most


class Browsers:
    """The pool: at most `most` browsers, none until one is needed. Threads share it.

    A page has a browser to itself: what one does to its browser, its memory or its processor, no other page feels.

    executable  path of Chromium, as `app.browser.find` found it
    wear        after which a browser is replaced;   idle_s: so long without a page it is ended
    """

    def __init__(self, executable: str, *, most: int = 2, wear: Wear | None = None, idle_s: float = 60.0) -> None:
        self._pool = ProcessPool(partial(BrowserProcess, executable, wear or Wear()), idle_s=idle_s, most=most)

    def render(
        self, plain: PlainResponse, ask: Ask, bounds: Bounds, *, user_agent: str, screenshot: bool = False
    ) -> Rendering | BrowserDeath:
        """Render a page; waits while all browsers are taken. Raises what `ask` raised.

        Waiting for a browser, and for its start, is of the page's time, as its host's lease lasts no longer.
        """
        until = time.monotonic() + bounds.wall_s
        try:
            with self._pool.lent() as browser:
                assert browser is not None, "it waits as long as it takes"
                left_s = max(until - time.monotonic(), min(bounds.wall_s, LEAST_S))
                return OpenPage(browser, plain, ask, replace(bounds, wall_s=left_s), user_agent).render(screenshot)
        except NotStarted as error:
            _log.error("browser.not_started", why=str(error))
            return BrowserDeath(cause=str(error), problem=error.problem)

    def close(self) -> None:
        """End the idle browsers. A page that is open still ends by itself, and its browser with it."""
        self._pool.close()
