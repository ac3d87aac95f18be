"""Webhooks: signed, in order, at least once, to addresses that the guard allows; a dead one costs others nothing."""

import base64
import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import pairwise

import pytest
from sqlalchemy import Engine

from app.admin import webhooks
from app.crawl.state.setup import make_sender
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.features.changes import part
from app.features.changes.feed import Feed
from app.features.changes.webhooks import make_secret
from app.model import Reply, Request, Unsent
from tests.crawl import loop
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.features.changes.rebuilt import final
from tests.store.rows import one, sql

OK = Answer(headers={"Content-Type": "text/plain"}, body=b"thanks")
Send = Callable[[Request], Reply | Unsent]


@pytest.fixture
def crawled(worker: Worker, web: Web) -> Worker:
    """A crawl `c` of 5 pages."""
    site = web.site()
    site.pages |= {"/": html(*(f"/{n}" for n in range(4)), text="Home.")}
    site.pages |= {f"/{n}": html(text=f"Page {n}.", title=f"Title {n}") for n in range(4)}
    loop.start(worker, site.url())
    loop.run(worker)
    final(worker.engine)
    return worker


@pytest.fixture
def hook(web: Web) -> Site:
    site = web.site()
    site.pages["/hook"] = OK
    return site


def add(worker: Worker, url: str, **wishes: object) -> webhooks.AddedWebhook:
    return webhooks.add(worker.engine, worker.settings, "c", url, **{"begin": "start", **wishes})  # type: ignore[arg-type]


def run(worker: Worker, most: int = part.EVENTS_MOST) -> int:
    return part.deliver(worker.engine, worker.settings, worker.send, most=most)


def due_now(engine: Engine) -> None:
    sql(engine, "UPDATE webhooks SET next_try_at = clock_timestamp()")


def messages(site: Site) -> list[dict[str, object]]:
    return [json.loads(hit.content) for hit in site.log]


def events(site: Site) -> list[dict[str, object]]:
    return [event for message in messages(site) for event in message["events"]]  # type: ignore[attr-defined]


def test_a_message_is_signed_and_has_the_events_in_their_order(crawled: Worker, hook: Site) -> None:
    """The signature by the words of the specification, not by our code."""
    made = add(crawled, hook.url("/hook"))
    assert run(crawled) == 1
    (hit,) = hook.log
    key = base64.b64decode(made.secret.removeprefix("whsec_"))
    signed = f"{hit.headers['webhook-id']}.{hit.headers['webhook-timestamp']}.".encode() + hit.content
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, sha256)).decode()
    assert (hit.method, hit.headers["webhook-signature"]) == ("POST", wanted)
    assert hit.headers["Content-Type"] == "application/json"
    (message,) = messages(hook)
    feed = Feed(crawled.engine, 1)
    assert [event["id"] for event in events(hook)] == [str(feed.at(event)) for event in feed.ready()]
    assert hit.headers["webhook-id"] == message["cursor"] == events(hook)[-1]["id"]
    assert {str(event["title"]) for event in events(hook)} >= {"Title 0", "Title 3"}
    assert run(crawled) == 0, "it has all"
    assert len(hook.log) == 1


def test_another_library_accepts_the_signature(crawled: Worker, hook: Site) -> None:
    library = pytest.importorskip("standardwebhooks")
    made = add(crawled, hook.url("/hook"))
    run(crawled)
    (hit,) = hook.log
    fields = {name.lower(): value for name, value in hit.headers.items()}
    found = library.Webhook(made.secret).verify(hit.content, fields)
    assert len(found["events"]) == 5
    with pytest.raises(library.WebhookVerificationError):
        library.Webhook(make_secret()).verify(hit.content, fields)


def test_what_is_not_taken_comes_again_in_order(crawled: Worker, hook: Site) -> None:
    """Small messages, of which the second fails twice. A reader that keeps the last id sees none twice."""
    answers = iter([OK, Answer(status=500), Answer(drop=True), OK, OK])
    hook.pages["/hook"] = lambda _: next(answers)
    add(crawled, hook.url("/hook"))
    taken, failures = 0, []
    for _ in range(3):
        taken += run(crawled, most=2)
        (row,) = sql(crawled.engine, "SELECT failures, why, next_try_at - clock_timestamp() AS rest FROM webhooks")
        failures.append(row["failures"])
        assert (row["failures"] == 0) == (row["why"] is None)
        assert row["failures"] == 0 or row["rest"].total_seconds() > part.REST_S / 2
        due_now(crawled.engine)
    assert (taken, failures) == (3, [1, 2, 0])
    ids = [event["id"] for event in events(hook)]
    assert [ids[0:2], ids[2:4], ids[8:]] == [ids[0:2], ids[4:6], [ids[-1]]]
    assert len(dict.fromkeys(ids)) == 5
    assert sql(crawled.engine, "SELECT sent, failing_since FROM webhooks") == [{"sent": 5, "failing_since": None}]


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """URL of a socket whose connections are served by a function."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def accept() -> None:
            while True:
                try:
                    made, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(made,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook"
        server.shutdown(socket.SHUT_RDWR)


def endless_head(made: socket.socket) -> None:
    """Answer a head without end, octet by octet."""
    over = threading.Event()
    with closing(made):
        try:
            made.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
            while not over.wait(0.02):
                made.sendall(b"a")
        except OSError:
            return


def endless_body(made: socket.socket) -> None:
    with closing(made):
        made.recv(65_536)
        try:
            made.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            while True:
                made.sendall(b"[" * 4096)
        except OSError:
            return


def hurried(send: Send) -> Send:
    return lambda request: send(request._replace(deadline_s=0.5))


def test_one_that_answers_for_ever_is_cut_off(crawled: Worker) -> None:
    with listening(endless_head) as url:
        add(crawled, url)
        assert part.deliver(crawled.engine, crawled.settings, hurried(crawled.send)) == 0
    assert "did not answer in full" in one(crawled.engine, "SELECT why FROM webhooks")


def test_one_where_nothing_listens_is_not_called_late(crawled: Worker) -> None:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        add(crawled, f"http://127.0.0.1:{bound.getsockname()[1]}/hook")
        assert part.deliver(crawled.engine, crawled.settings, crawled.send) == 0
    assert "it did not answer: refused" in one(crawled.engine, "SELECT why FROM webhooks")


def test_of_a_body_without_end_little_is_read(crawled: Worker) -> None:
    replies = []

    def noting(request: Request) -> Reply | Unsent:
        replies.append(crawled.send(request))
        return replies[-1]

    with listening(endless_body) as url:
        add(crawled, url)
        assert part.deliver(crawled.engine, crawled.settings, noting) == 1
    (reply,) = replies
    assert isinstance(reply, Reply)
    assert len(reply.body) <= part.ANSWER_BYTES


def test_a_dead_one_costs_the_others_nothing(crawled: Worker, hook: Site, web: Web) -> None:
    dead = web.site()
    url = dead.url("/hook")
    dead.close()
    broken = add(crawled, url)
    fine = add(crawled, hook.url("/hook"))
    assert run(crawled) == 1
    assert run(crawled) == 0
    assert len(events(hook)) == 5
    assert sql(crawled.engine, "SELECT id, failures FROM webhooks ORDER BY id") == [
        {"id": broken.id, "failures": 1},
        {"id": fine.id, "failures": 0},
    ]
    (check,) = webhooks.checks(crawled.engine)
    assert (check.name, check.grade) == ("webhooks", "warn")
    assert "failed 1 time in a row" in check.finding
    assert [part.rest_s(n) for n in range(4)] == [5, 10, 20, 40]
    assert part.rest_s(10_000) == part.REST_MOST_S


def test_two_senders_never_serve_one_subscriber_at_once(crawled: Worker, hook: Site) -> None:
    add(crawled, hook.url("/hook"))
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: run(crawled, most=1), range(4))) == 5
    ids = [event["id"] for event in events(hook)]
    assert len(ids) == len({*ids}) == 5
    assert all(later.started >= earlier.ended for earlier, later in pairwise(hook.log))
    feed = Feed(crawled.engine, 1)
    assert ids == [str(feed.at(event)) for event in feed.ready()]


def test_filters_and_replay(crawled: Worker, hook: Site) -> None:
    made = add(crawled, hook.url("/hook"), pattern="*/2", kinds=["new"])
    run(crawled)
    assert [str(event["url"])[-2:] for event in events(hook)] == ["/2"]
    assert one(crawled.engine, "SELECT count(*) FROM webhooks WHERE sent = 1") == 1
    webhooks.replay(crawled.engine, made.id, "start")
    run(crawled)
    assert [event["id"] for event in events(hook)] == [events(hook)[0]["id"]] * 2
    (row,) = webhooks.listed(crawled.engine, "c")
    webhooks.replay(crawled.engine, made.id, row.cursor)
    assert run(crawled) == 0
    with pytest.raises(InputError, match="is no cursor"):
        webhooks.replay(crawled.engine, made.id, "yesterday")


def test_one_whose_cursor_is_of_another_database_says_what_to_do(crawled: Worker, hook: Site) -> None:
    made = add(crawled, hook.url("/hook"))
    run(crawled)
    sql(crawled.engine, "UPDATE webhooks SET lineage = '1' || lineage, xid = xid - 1, next_try_at = clock_timestamp()")
    assert run(crawled) == 0
    why = one(crawled.engine, "SELECT why FROM webhooks")
    assert "the database is another one" in why
    assert f"tiptoe webhook replay {made.id} --from start" in why


# url, what its refusal says
NOT_OF_SUBSCRIBERS = [
    ("http://127.0.0.1/hook", "may not be contacted"),
    ("http://localhost/hook", "may not be contacted"),
    ("http://[::1]/hook", "may not be contacted"),
    ("http://169.254.169.254/latest", "may not be contacted"),
    ("http://2130706433/hook", "may not be contacted"),
    ("ftp://example.org/", "is not a URL of http or https"),
    ("example.org", "is not a URL of http or https"),
    ("https://example.org:25/", "names a port that no browser requests"),
    ("http://me:secret@127.0.0.1/", "holds a user or password"),
    ("http:\\\\me:secret@127.0.0.1\\hook", "holds a user or password"),
    (" http:me:secret@127.0.0.1/hook", "holds a user or password"),
    ("ftp://me:secret@127.0.0.1/", "holds a user or password"),
    ("http://[::1", "is not a URL of http or https"),
    ("http://no-such-name.invalid/", "cannot be looked up"),
    ("http://example.org/" + "a" * 3_000, "is longer than"),
]


def test_a_url_that_cannot_be_a_subscribers(crawled: Worker) -> None:
    settings = crawled.settings.model_copy(update={"allow_networks": "", "contact": "a@example.org"})
    for url, why in NOT_OF_SUBSCRIBERS:
        with pytest.raises(InputError, match=why) as found:
            webhooks.add(crawled.engine, settings, "c", url)
        assert "secret" not in str(found.value)
        assert len(str(found.value).splitlines()) == 1
        assert len(str(found.value)) < 400


def test_its_url_is_sent_to_as_it_was_written(crawled: Worker, hook: Site) -> None:
    """What is tracking in a link, or names a session, may be what a subscriber knows its caller by."""
    path = "/hook?gclid=1&PHPSESSID=a&a=@b"
    hook.pages[path] = OK
    assert add(crawled, hook.url(path)).url == hook.url(path)
    assert run(crawled) == 1
    assert [hit.path for hit in hook.log] == [path]


def test_a_name_that_moves_to_a_forbidden_address_gets_nothing(crawled: Worker, hook: Site) -> None:
    """It was allowed as it was added, and is not any more as it is sent to."""
    add(crawled, hook.url("/hook"))
    sender = make_sender(crawled.settings.model_copy(update={"allow_networks": "", "contact": "a@example.org"}))
    assert part.deliver(crawled.engine, crawled.settings, sender.send) == 0
    sender.close()
    assert hook.log == []
    assert "its address may not be contacted" in one(crawled.engine, "SELECT why FROM webhooks")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(headers={"Content-Type": "application/json"}, body=b'{"taken": true}', cut=True),
        Answer(headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}, body=b"{}"),
    ],
    ids=["cut", "not gzip"],
)
def test_a_status_says_that_it_was_taken_whatever_the_body(crawled: Worker, hook: Site, answer: Answer) -> None:
    hook.pages["/hook"] = answer
    add(crawled, hook.url("/hook"))
    assert run(crawled) == 1
    assert one(crawled.engine, "SELECT failures FROM webhooks") == 0


def test_what_may_be_secret_in_a_url_is_in_no_log(
    crawled: Worker, hook: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    hook.pages["/hook?key=hush"] = Answer(status=500)
    add(crawled, hook.url("/hook?key=hush"))
    run(crawled)
    shown = capsys.readouterr().out
    assert "webhook.failed" in shown
    assert "hush" not in shown


def test_a_secret_is_shown_once(crawled: Worker, hook: Site, capsys: pytest.CaptureFixture[str]) -> None:
    made = add(crawled, hook.url("/hook"))
    assert made.secret != add(crawled, hook.url("/hook?2")).secret
    hook.pages["/hook"] = Answer(status=500)
    run(crawled)
    shown = capsys.readouterr().out + repr(webhooks.listed(crawled.engine)) + repr(webhooks.checks(crawled.engine))
    assert "webhook.failed" in shown
    assert made.secret not in shown
    with pytest.raises(InputError, match="has it already"):
        add(crawled, hook.url("/hook"))
    assert webhooks.remove(crawled.engine, made.id) == hook.url("/hook")
    with pytest.raises(InputError, match="does not exist"):
        webhooks.remove(crawled.engine, made.id)


def test_a_hook_of_what_happens_from_now_on(crawled: Worker, hook: Site) -> None:
    hits: list[Hit] = hook.log
    add(crawled, hook.url("/hook"), begin=None)
    assert run(crawled) == 0
    assert hits == []
