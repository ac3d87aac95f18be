"""Acts on hosts: pause, resume, slow, quiet, pin, release, forget robots.txt. None lets a host be contacted early."""

from collections.abc import Callable, Sequence

from app.admin import hosts
from app.web.acts.act import Act, Fields, FormField, Values, number, text
from app.web.board import Board
from app.words import counted


def _pause(board: Board, subject: str, _: Fields) -> str:
    return hosts.pause(board.engine, subject)


def _resume(board: Board, subject: str, _: Fields) -> str:
    hosts.resume(board.engine, subject)
    return "may be visited again, at its pace"


def _slow(board: Board, subject: str, fields: Fields) -> str:
    delay_s = number(fields, "delay")
    says = "the usual delay" if delay_s is None else f"a delay of {delay_s:g} s"
    if fields.get("domain"):
        domain, known = hosts.slow_domain(board.engine, subject, delay_s)
        return f"{says} for {domain}, {counted(known, 'known host')}"
    return says + hosts.slow(board.engine, subject, delay_s)


def _quiet(board: Board, subject: str, fields: Fields) -> str:
    from app.policy.hours import Hours

    given = text(fields, "hours")
    hours = None if given is None else str(Hours.parse(given))
    if fields.get("domain"):
        domain, known = hosts.quiet_domain(board.engine, subject, hours)
        return f"{domain}, {counted(known, 'known host')}: " + (f"no contact from {hours} UTC" if hours else "none")
    kept = hosts.quiet(board.engine, subject, hours)
    return f"no contact from {kept} UTC" if kept else "no quiet hours of its own"


def _pin(board: Board, subject: str, fields: Fields) -> str:
    return f"its visits use queue {hosts.pin(board.engine, board.settings, subject, text(fields, 'queue'))}"


def _release(board: Board, subject: str, _: Fields) -> str:
    hosts.release(board.engine, subject)
    return "its rest is over"


def _forget(board: Board, subject: str, _: Fields) -> str:
    origins = hosts.forget(board.engine, subject)
    return f"robots.txt of {counted(origins, 'origin')} is fetched again at the next visit"


def _was(name: str, column: str) -> Callable[[Board, str, Fields], Values]:
    """Reads an operator's setting as it is now: the host's own, or its domain's where the order is for that."""

    def was(board: Board, subject: str, fields: Fields) -> Values:
        found = hosts.show(board.engine, board.settings, subject, latest=1)
        row = (found.domain or {}) if fields.get("domain") else found.host
        value = row.get(column)
        shown = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        return {name: shown, **({"domain": "on"} if fields.get("domain") else {})}

    return was


def _queue_was(board: Board, subject: str, _: Fields) -> Values:
    host = hosts.known(board.engine, subject)
    return {"queue": host["queue"] if host["pinned"] else ""}


_DOMAIN = FormField(name="domain", label="For every host of its registrable domain", kind="check")


def _slow_fields(_: Board, __: str) -> Sequence[FormField]:
    return (FormField(name="delay", label="Seconds between requests", hint="Empty: the usual delay"), _DOMAIN)


def _delay_now(board: Board, subject: str) -> Values:
    override = hosts.known(board.engine, subject)["delay_override_s"]
    return {"delay": "" if override is None else f"{override:g}"}


def _quiet_fields(_: Board, __: str) -> Sequence[FormField]:
    return (FormField(name="hours", label="Hours of the day, UTC", hint="As 08:00-18:00; empty: none"), _DOMAIN)


def _hours_now(board: Board, subject: str) -> Values:
    return {"hours": hosts.known(board.engine, subject)["quiet_hours"] or ""}


def _pin_fields(board: Board, _: str) -> Sequence[FormField]:
    queues = [("", "the one that it hashes to"), *((name, name) for name in board.settings.queue_names)]
    return (FormField(name="queue", label="Queue", kind="choice", options=queues),)


ACTS = (
    Act(
        key="host.pause",
        title="Pause",
        says="No further visit goes to {subject}, in any crawl, until it is resumed. A running visit ends at its next "
        "settle, in seconds.",
        do=_pause,
        leads="host",
        undo=("host.resume", {}),
    ),
    Act(
        key="host.resume",
        title="Resume",
        says="{subject} may be visited again, no sooner than its delay and its rest allow.",
        do=_resume,
        leads="host",
        undo=("host.pause", {}),
    ),
    Act(
        key="host.slow",
        title="Change the delay",
        says="Requests to {subject} are so many seconds apart from the next one on. This overrides robots.txt and the "
        "default; slowness of the host still adds to it.",
        do=_slow,
        leads="host",
        asks=_slow_fields,
        fills=_delay_now,
        was=_was("delay", "delay_override_s"),
    ),
    Act(
        key="host.quiet",
        title="Quiet hours",
        says="{subject} is not contacted within these hours of the day.",
        do=_quiet,
        leads="host",
        asks=_quiet_fields,
        fills=_hours_now,
        was=_was("hours", "quiet_hours"),
    ),
    Act(
        key="host.pin",
        title="Pin to a queue",
        says="Visits to {subject} go to this queue from the next offer on.",
        do=_pin,
        leads="host",
        asks=_pin_fields,
        was=_queue_was,
    ),
    Act(
        key="host.release",
        title="End its rest",
        says="The rest of {subject} after errors or a Retry-After ends now. Its delay still holds. The site asked for "
        "this rest, or needed it: end it only if you know better.",
        do=_release,
        leads="host",
    ),
    Act(
        key="host.forget",
        title="Fetch robots.txt again",
        says="robots.txt of {subject} is fetched again before the next request to it.",
        do=_forget,
        leads="host",
    ),
)
