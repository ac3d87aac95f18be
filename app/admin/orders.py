"""The catalogue of orders to hosts, crawls and URLs: commands, forms, JSON, the log and the docs' rows are made of it.

An order is an `Act` here over a function of `app.admin`, which is imported where it runs: `--help` needs none of them.
No order lets a host be contacted early.
"""

from collections.abc import Callable, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from app.admin.act import DEFAULT, Act, Desk, Fields, FormField, OrderEnd, Values
from app.words import counted

if TYPE_CHECKING:
    from app.config import Settings

_OF_HASH = "the one that it hashes to"


def _given(given: Fields, name: str) -> str | None:
    """A value; None: it is empty, or `default`."""
    value = given.get(name, "").strip()
    return None if value in ("", DEFAULT) else value


def _delay_s(text: str) -> float | None:
    from app.errors import InputError

    if text.strip() in ("", DEFAULT):
        return None
    try:
        return float(text)
    except ValueError:
        remedy = "is not a number of seconds; write one, such as 5 or 0.5, or default"
        raise InputError(f"delay {text!r}", remedy) from None


def _hours(text: str) -> str | None:
    from app.policy.moment import Hours

    return None if text.strip() in ("", DEFAULT) else str(Hours.parse(text.strip()))


def _pause_host(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import hosts

    return OrderEnd(says=hosts.pause(desk.engine, subject))


def _resume_host(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import hosts

    hosts.resume(desk.engine, subject)
    return OrderEnd(says="may be visited again")


def _slow(desk: Desk, subject: str, given: Fields) -> OrderEnd:
    from app.admin import hosts
    from app.policy.url import hostname

    delay_s, domain = _delay_s(given.get("delay", "")), bool(given.get("domain"))
    usual = "robots.txt and the default decide from the next visit on"
    says = usual if delay_s is None else f"{delay_s:g} s between requests"
    if domain:
        whose = _of_domain(*hosts.slow_domain(desk.engine, subject, delay_s))
    else:
        whose = hostname(subject)
        says += hosts.slow(desk.engine, subject, delay_s)
    return OrderEnd(says=says, whose=whose, document={"name": subject, "domain": domain, "delay_s": delay_s})


def _quiet(desk: Desk, subject: str, given: Fields) -> OrderEnd:
    from app.admin import hosts
    from app.policy.url import hostname

    hours, domain = _hours(given.get("hours", "")), bool(given.get("domain"))
    if domain:
        whose, none = _of_domain(*hosts.quiet_domain(desk.engine, subject, hours)), "no quiet hours"
    else:
        hosts.quiet(desk.engine, subject, hours)
        whose, none = hostname(subject), "no quiet hours of its own"
    says = f"no contact from {hours} UTC" if hours else none
    return OrderEnd(says=says, whose=whose, document={"name": subject, "domain": domain, "quiet_hours": hours})


def _of_domain(domain: str, known: int) -> str:
    return f"{domain} and its hosts ({known} known)"


def _pin(desk: Desk, subject: str, given: Fields) -> OrderEnd:
    from app.admin import hosts

    queue = hosts.pin(desk.engine, desk.settings, subject, _given(given, "queue"))
    return OrderEnd(says=f"its visits use queue {queue} from the next offer on", document={"queue": queue})


def _release(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import hosts

    hosts.release(desk.engine, subject)
    return OrderEnd(says="its rest is over")


def _forget_robots(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import hosts

    origins = hosts.forget(desk.engine, subject)
    says = f"robots.txt of {counted(origins, 'origin')} will be fetched again at the next visit"
    return OrderEnd(says=says, document={"origins": origins})


def _was(name: str, column: str) -> Callable[[Desk, str, Fields], Values]:
    """Reads an operator's setting as it is now: the host's own, or its domain's where the order is for that."""

    def was(desk: Desk, subject: str, given: Fields) -> Values:
        from app.admin import hosts

        found = hosts.show(desk.engine, desk.settings, subject, latest=1)
        row = (found.domain or {}) if given.get("domain") else found.host
        value = row.get(column)
        shown = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        return {name: shown, **({"domain": "on"} if given.get("domain") else {})}

    return was


def _queue_was(desk: Desk, subject: str, _: Fields) -> Values:
    from app.admin import hosts

    host = hosts.known(desk.engine, subject)
    return {"queue": host["queue"] if host["pinned"] else ""}


def _own(name: str, column: str) -> Callable[[Desk, str], Values]:
    """Reads the host's own setting, for its form."""
    return lambda desk, subject: _was(name, column)(desk, subject, {})


def _queues(settings: "Settings") -> Sequence[tuple[str, str]]:
    return [("", _OF_HASH), *((name, name) for name in settings.queue_names)]


def _pause(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import crawls

    says = "paused" if crawls.pause(desk.engine, subject) else "paused already"
    go_on = f"; to resume: tiptoe crawl resume {quote(subject)}"
    return OrderEnd(says=says, go_on=go_on, document={"state": "paused"})


def _resume(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import crawls

    says = "active" if crawls.resume(desk.engine, subject) else "active already"
    return OrderEnd(says=says, document={"state": "active"})


def _finish(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import crawls

    says = "finished" if crawls.finish(desk.engine, subject) else "finished already"
    return OrderEnd(says=says, document={"state": "finished"})


def _start(desk: Desk, subject: str, given: Fields) -> OrderEnd:
    from app.admin import crawls

    again = bool(given.get("again"))
    crawl = crawls.start_round(desk.engine, subject, desk.settings) if again else crawls.start(desk.engine, subject)
    return OrderEnd(says=f"active, round {crawl.round}", document={"state": crawl.state, "round": crawl.round})


def _retry_failed(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import crawls

    queued = crawls.retry_failed(desk.engine, subject)
    return OrderEnd(says=f"{counted(queued, 'URL')} queued again", document={"queued": queued})


def _delete(desk: Desk, subject: str, _: Fields) -> OrderEnd:
    from app.admin import deletion

    deletion.delete(desk.engine, desk.settings, subject)
    return OrderEnd(says="deleted", document={"deleted": True})


def _lost(desk: Desk, subject: str) -> str:
    from app.admin import report

    pages = report.of(desk.engine, subject).pages
    return f"{counted(pages, 'page')} of this round and all its URLs will be deleted for good"


def _retry(desk: Desk, subject: str, given: Fields) -> OrderEnd:
    from app.admin import second_try

    crawl, force = _given(given, "crawl"), bool(given.get("force"))
    names = second_try.retry(desk.engine, desk.settings, subject, crawl, force=force)
    hindrances = second_try.hindrances(desk.engine, names)
    document = {"queued_in": names, "hindrances": hindrances}
    return OrderEnd(says=f"queued in {', '.join(names)}", notes=hindrances, document=document)


def _forget(desk: Desk, subject: str, given: Fields) -> OrderEnd:
    from app.admin import explain

    names = explain.forget(desk.engine, desk.settings, subject, _given(given, "crawl"))
    return OrderEnd(says=f"forgotten in {', '.join(names)}", document={"forgotten_in": names})


_DOMAIN = FormField(
    name="domain",
    label="For every host of the registrable domain that has none of its own, including hosts found later",
    kind="check",
)
_IN_CRAWL = FormField(name="crawl", label="In this crawl only", none="in all that know it")

# In the order in which help and pages show them.
CATALOGUE = (
    Act(
        key="host.pause",
        title="Pause",
        says="Stop contacting {subject}, in any crawl, until it is resumed. A running visit ends at its next settle, "
        "in seconds.",
        do=_pause_host,
        leads="host",
        undo=("host.resume", {}),
    ),
    Act(
        key="host.resume",
        title="Resume",
        says="Allow visits to {subject} again, no sooner than its delay and its rest allow.",
        do=_resume_host,
        leads="host",
        undo=("host.pause", {}),
    ),
    Act(
        key="host.slow",
        title="Change the delay",
        says="Set the delay between requests to {subject}, from the next one on. It overrides robots.txt and the "
        "default; slowness of the host still adds to it.",
        do=_slow,
        leads="host",
        asks=(
            FormField(
                name="delay",
                label="Seconds between requests, from the end of one to the start of the next",
                none="what robots.txt and the default say",
                metavar="SECONDS",
                is_argument=True,
                check=_delay_s,
            ),
            _DOMAIN,
        ),
        fills=_own("delay", "delay_override_s"),
        example="10",
        was=_was("delay", "delay_override_s"),
    ),
    Act(
        key="host.quiet",
        title="Quiet hours",
        says="Set hours of the day in which {subject} is not contacted at all.",
        do=_quiet,
        leads="host",
        asks=(
            FormField(
                name="hours",
                label="Hours of the day in UTC; they may span midnight, e.g. 22:00-06:00",
                none="none",
                metavar="HH:MM-HH:MM",
                is_argument=True,
                check=_hours,
            ),
            _DOMAIN,
        ),
        fills=_own("hours", "quiet_hours"),
        example="08:00-18:00",
        was=_was("hours", "quiet_hours"),
    ),
    Act(
        key="host.pin",
        title="Pin to a queue",
        says="Send visits to {subject} to a queue of its own from the next offer on.",
        do=_pin,
        leads="host",
        asks=(
            FormField(
                name="queue",
                label="One of TIPTOE_PINNED_QUEUES, or host-NN",
                kind="choice",
                options_of=_queues,
                none=_OF_HASH,
                metavar="QUEUE",
                is_argument=True,
            ),
        ),
        example="big-site",
        was=_queue_was,
    ),
    Act(
        key="host.release",
        title="End its rest",
        says="End the rest of {subject} after errors or a Retry-After. Its delay still holds. The site asked for this "
        "rest, or needed it: end it only if you know better.",
        do=_release,
        leads="host",
    ),
    Act(
        key="host.forget",
        title="Fetch robots.txt again",
        says="Fetch robots.txt of {subject} again before the next request to it.",
        do=_forget_robots,
        leads="host",
    ),
    Act(
        key="crawl.pause",
        title="Pause",
        says="Fetch nothing more of {subject} until it is resumed; requests that run end first. Other crawls continue.",
        do=_pause,
        leads="crawl",
        undo=("crawl.resume", {}),
    ),
    Act(
        key="crawl.resume",
        title="Resume",
        says="Resume {subject} where it was paused; its clock restarts.",
        do=_resume,
        leads="crawl",
        undo=("crawl.pause", {}),
    ),
    Act(
        key="crawl.finish",
        title="Finish",
        says="End {subject} now. Nothing is deleted: pages, frontier and log stay, and it can be started again.",
        do=_finish,
        leads="crawl",
        undo=("crawl.start", {}),
    ),
    Act(
        key="crawl.start",
        title="Start again",
        says="Make {subject} active, where it is paused or finished; its clock restarts. Workers (`tiptoe up`) do the "
        "rest.",
        do=_start,
        leads="crawl",
        asks=(
            FormField(
                name="again",
                label="Start another round: everything that it has fetched is due now, with validators",
                kind="check",
            ),
        ),
        example="--again",
        undo=("crawl.finish", {}),
    ),
    Act(
        key="crawl.retry_failed",
        title="Retry what was given up",
        says="Queue the URLs again that {subject} gave up, with attempts from 0. A finished crawl becomes active.",
        do=_retry_failed,
        leads="crawl",
    ),
    Act(
        key="crawl.delete",
        title="Delete",
        says="End {subject}, and delete its URLs, pages, refused links, counts, archive and rows of plugins for good. "
        "Hosts stay, and so does the log of requests, for the audit. It may take minutes.",
        do=_delete,
        leads="crawl",
        loses=_lost,
        example="--yes",
        is_slow=True,
    ),
    Act(
        key="url.retry",
        title="Queue again",
        says="Queue {subject} now, whatever its state, with attempts from 0. Its host's pace and robots.txt hold.",
        do=_retry,
        leads="url",
        asks=(_IN_CRAWL, FormField(name="force", label="Fetch it even if it is taken for a trap", kind="check")),
    ),
    Act(
        key="url.forget",
        title="Forget",
        says="Take {subject} out of the frontier. The log keeps its requests; a link found later may bring it back.",
        do=_forget,
        leads="url",
        asks=(_IN_CRAWL,),
        example="--crawl docs",
    ),
)
