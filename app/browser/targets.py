"""Targets of an open page: its frames, workers and the windows that it opens. Each is prepared before it runs.

Chromium holds a new target until `Runtime.runIfWaitingForDebugger`. Windows and service workers are closed instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from app.browser.connection import NOISY, Message, PageChannel
from app.browser.requests import Traffic, origin_of
from app.model.render import RenderRefusal

WORLD: Final = "tiptoe"
REPORT: Final = "__tiptoe_report"
UNKNOWN: Final = "about:unknown"  # a document that asks, of which we were not told
_SCRIPTS: Final = files("app.browser") / "scripts"
_WATCH: Final = (_SCRIPTS / "watch.js").read_text()
_REFUSE: Final = (_SCRIPTS / "refuse.js").read_text()
_REPORTS: Final = {reason.value: reason for reason in RenderRefusal}


@dataclass(slots=True, kw_only=True)
class PageTrace:
    """All that a page let be seen while it was open, besides its document and its requests."""

    routes: dict[str, None] = field(default_factory=dict)  # in order, each once
    errors: list[str] = field(default_factory=list)

    def route(self, url: str) -> None:
        if len(self.routes) < 200 and url.startswith(("http:", "https:")):
            self.routes[url] = None

    def error(self, text: str) -> None:
        if len(self.errors) < 20:
            self.errors.append(text[:300])


class Targets:
    """The targets of one page.

    main      session of the page; "" until it is attached
    worlds    our world of each frame: {(session, frame): context}
    is_shown  the page's own document had one at some time: until then nothing of the page has run
    crash     how the page's renderer ended: "crashed", "oom", "killed" …; "" while it runs
    """

    def __init__(self, channel: PageChannel, traffic: Traffic, user_agent: str) -> None:
        self._channel, self._traffic, self._user_agent = channel, traffic, user_agent
        self._frames: dict[str, str] = {}  # frame → its document's URL
        self._parents: dict[str, str] = {}  # frame → the frame around it
        self.seen = PageTrace()
        self.page, self.main = "", ""
        self._context = ""
        self.sessions: dict[str, str] = {}
        self.worlds: dict[tuple[str, str], int] = {}
        self.is_shown = False
        self.crash = ""
        self._handlers: Mapping[str, Callable[[Mapping[str, Any], str], None]] = {
            "Target.attachedToTarget": self._attached,
            "Target.targetCreated": self._made,
            "Target.detachedFromTarget": self._detached,
            "Fetch.requestPaused": self._held,
            "Runtime.executionContextCreated": self._world_made,
            "Runtime.executionContextsCleared": self._cleared,
            "Page.frameAttached": self._frame_made,
            "Page.frameNavigated": self._frame,
            "Page.navigatedWithinDocument": self._routed,
            "Page.javascriptDialogOpening": self._dialog,
            "Page.windowOpen": self._window,
            "Browser.downloadWillBegin": self._download,
            "Network.webSocketCreated": self._socket,
            "Runtime.bindingCalled": self._reported,
            "Target.targetCrashed": self._crashed,
            "Runtime.consoleAPICalled": self._console,
            "Runtime.exceptionThrown": self._thrown,
            "Log.entryAdded": self._logged,
            NOISY: self._noisy,
        }

    def expect(self, context: str, page: str) -> None:
        """Take this target for the page, and let it begin."""
        self._context, self.page, self._traffic.main_frame = context, page, page
        self._channel.send("Target.attachToTarget", None, targetId=page, flatten=True)
        self._channel.send("Target.setDiscoverTargets", None, discover=True, filter=[{"type": "page"}])

    def on_event(self, message: Message) -> None:
        """Handle an event of the browser. Those that nobody needs are dropped."""
        handle = self._handlers.get(message["method"])
        session = message.get("sessionId", "")
        if handle is not None and (not session or session in self.sessions):  # not of a page that was closed
            handle(message["params"], session)

    def interrupt(self) -> None:
        """Break off the script that each target runs at this moment."""
        for session in self.sessions:
            self._channel.send("Runtime.terminateExecution", session)

    def world(self) -> int | None:
        """Our world in the page's own document, once there is one."""
        return self.worlds.get((self.main, self.page))

    def others(self) -> list[tuple[str, int]]:
        """(session, context) of frames that have a process of their own."""
        roots = [(session, self.worlds.get((session, target))) for session, target in self.sessions.items()]
        return [(session, context) for session, context in roots if context is not None and session != self.main]

    def _attached(self, params: Mapping[str, Any], _: str) -> None:
        session, info = params["sessionId"], params["targetInfo"]
        kind, target = info["type"], info["targetId"]
        if info.get("browserContextId") != self._context:
            return  # of the browser itself
        if target == self.page:
            self.main = self.main or session
        elif kind == "service_worker":
            self._traffic.refuse(RenderRefusal.SERVICE_WORKER)
            self._channel.send("Target.closeTarget", None, targetId=target)
            return
        self.sessions[session] = target
        self._prepare(session, has_document=kind in {"page", "iframe"})

    def _prepare(self, session: str, *, has_document: bool) -> None:
        """Hold all that it asks for, and let it run. A kind of worker that refuses a command goes without it."""
        send = self._channel.send
        send("Fetch.enable", session, patterns=[{"urlPattern": "*", "requestStage": "Request"}])
        send("Network.enable", session, maxTotalBufferSize=0, maxResourceBufferSize=0)
        if has_document:
            send("Runtime.enable", session)
            send("Page.enable", session)
            send("Log.enable", session)
            send("Runtime.addBinding", session, name=REPORT)
            send("Page.addScriptToEvaluateOnNewDocument", session, source=_REFUSE)
            send("Page.addScriptToEvaluateOnNewDocument", session, source=_WATCH, worldName=WORLD)
            send("Emulation.setFocusEmulationEnabled", session, enabled=True)
        send("Emulation.setUserAgentOverride", session, userAgent=self._user_agent)
        send("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        send("Runtime.runIfWaitingForDebugger", session)

    def _detached(self, params: Mapping[str, Any], _: str) -> None:
        self.sessions.pop(params["sessionId"], None)
        self.worlds = {key: context for key, context in self.worlds.items() if key[0] != params["sessionId"]}

    def _held(self, params: Mapping[str, Any], session: str) -> None:
        self._traffic.hold(params, session, self._asker(params["frameId"]))

    def _asker(self, frame: str) -> str:
        """The document that asks: unknown below a frame of another origin, which may send those in it anywhere."""
        url = self._frames.get(frame, UNKNOWN)
        while frame != self.page:
            frame = self._parents.get(frame, "")
            if not frame or origin_of(self._frames.get(frame, UNKNOWN)) != origin_of(url):
                return UNKNOWN
        return url

    def _frame_made(self, params: Mapping[str, Any], _: str) -> None:
        """Take a new frame for its parent, which asks for its document."""
        frame, parent = params["frameId"], params["parentFrameId"]
        self._parents[frame], self._frames[frame] = parent, self._frames.get(parent, UNKNOWN)

    def _world_made(self, params: Mapping[str, Any], session: str) -> None:
        context = params["context"]
        if context["name"] == WORLD:
            frame = context["auxData"]["frameId"]
            self.worlds[session, frame] = context["id"]
            self.is_shown |= (session, frame) == (self.main, self.page)

    def _cleared(self, _: Mapping[str, Any], session: str) -> None:
        self.worlds = {key: context for key, context in self.worlds.items() if key[0] != session}

    def _frame(self, params: Mapping[str, Any], _: str) -> None:
        self._frames[params["frame"]["id"]] = params["frame"]["url"]

    def _routed(self, params: Mapping[str, Any], _: str) -> None:
        if params["frameId"] == self.page:
            self.seen.route(params["url"])

    def _dialog(self, _: Mapping[str, Any], session: str) -> None:
        self._channel.send("Page.handleJavaScriptDialog", session, accept=False)

    def _made(self, params: Mapping[str, Any], _: str) -> None:
        """Close a window that the page got open. Without a click there is none, by Chromium's own blocker."""
        info = params["targetInfo"]
        if info.get("browserContextId") == self._context and info["targetId"] != self.page:
            self._channel.send("Target.closeTarget", None, targetId=info["targetId"])

    def _window(self, params: Mapping[str, Any], _: str) -> None:
        self._traffic.refuse(RenderRefusal.POPUP)
        self.seen.route(params["url"])

    def _download(self, params: Mapping[str, Any], _: str) -> None:
        self._traffic.refuse(RenderRefusal.DOWNLOAD)
        self.seen.route(params["url"])

    def _socket(self, _: Mapping[str, Any], __: str) -> None:
        self._traffic.refuse(RenderRefusal.WEBSOCKET)

    def _reported(self, params: Mapping[str, Any], _: str) -> None:
        if params["name"] == REPORT and (reason := _REPORTS.get(params["payload"])):
            self._traffic.refuse(reason)

    def _crashed(self, params: Mapping[str, Any], _: str) -> None:
        if params["targetId"] == self.page:
            self.crash = params["status"]

    def _console(self, params: Mapping[str, Any], _: str) -> None:
        if params["type"] == "error":
            self.seen.error(" ".join(str(arg.get("value", arg.get("description", ""))) for arg in params["args"]))

    def _thrown(self, params: Mapping[str, Any], _: str) -> None:
        details = params["exceptionDetails"]
        self.seen.error(details.get("exception", {}).get("description") or details["text"])

    def _noisy(self, _: Mapping[str, Any], session: str) -> None:
        """Listen no more to what it logs. Its worlds are known already."""
        self._channel.send("Runtime.disable", session)
        self._channel.send("Log.disable", session)

    def _logged(self, params: Mapping[str, Any], _: str) -> None:
        entry = params["entry"]
        if entry["text"].startswith("Not allowed to load local resource"):
            self._traffic.refuse(RenderRefusal.SCHEME)
