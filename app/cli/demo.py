"""`tiptoe demo`: a crawl of a small web on this machine, to look at. Nothing leaves loopback.

It runs the command that a person would (`tiptoe crawl`), in a home of its own, and says then what each host did.
"""

import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import near
from app.cli.out import AsJson, say, show_json

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.local.demo import DemoWeb
    from app.store.by_host import BroughtByHost, RefusedThere
    from app.store.crawls import Crawl


def demo(
    web: Annotated[
        bool, typer.Option("--web/--no-web", help="Serve the dashboard while it runs, on any free port.")
    ] = True,
    seconds: Annotated[int, typer.Option(min=5, max=3_600, metavar="N", help="End after this many seconds.")] = 110,
    as_json: AsJson = False,
) -> None:
    """Crawl a small web on this machine for two minutes: a healthy site, a trap, a slow, a busy and a closed one."""
    from app.config import current
    from app.crawl.state.setup import make_engine
    from app.local.demo import serve
    from app.local.services import LocalServices

    home = (current().home / "demo").resolve()
    with serve() as sites, LocalServices(home, database_url=None, broker_url=None, log=say) as services:
        settings = current().model_copy(update={"database_url": services.database_url})
        engine = make_engine(settings)
        try:
            name = free_name(engine, services.database_url)
            command = _command(sites, name, seconds, web=web)
            say(f"{len(sites.sites)} hosts answer on this machine alone; this is their crawl:")
            say(f"  tiptoe {' '.join(command)}")
            code = _run(command, home, sites)
            _tell(engine, sites, name, home, as_json=as_json)
        finally:
            engine.dispose()
    if code:
        raise typer.Exit(code)


def free_name(engine: "Engine", database_url: str) -> str:
    """demo, or demo-2 and so on, the first that no earlier run has. Makes the schema where there is none."""
    from app.cli.database import May, check_schema
    from app.store import crawls, db

    check_schema(engine, database_url, May.UPGRADE, is_ours=True)
    with db.transaction(engine) as tx:
        taken = {crawl.name for crawl in crawls.every(tx)}
    names = itertools.chain(["demo"], (f"demo-{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _command(sites: "DemoWeb", name: str, seconds: int, *, web: bool) -> list[str]:
    from app.local.demo import seed

    options = ["--name", name, "--scope", "any", "--max-pages", "120", "--max-seconds", str(seconds)]
    return ["crawl", seed(sites.port), *options, *(["--web"] if web else [])]


def _run(command: Sequence[str], home: Path, sites: "DemoWeb") -> int:
    """Run it with the terminal that we have. Its standard output is for our own answer. Returns its exit code."""
    from app.local.running import free_port

    resolve = ",".join(f"{name}={address}" for name, address in sites.addresses.items())
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")},
        "TIPTOE_HOME": str(home),
        "TIPTOE_RESOLVE": resolve,
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        "TIPTOE_PROCESSES": "1",
        "TIPTOE_WEB_LISTEN": f"127.0.0.1:{free_port(None)}",
        # The folder's .env may name services of a fleet.
        "TIPTOE_DATABASE_URL": "",
        "TIPTOE_BROKER_URL": "",
    }
    # The option too: then the commands that it names at its end begin with it, as they must outside of the demo.
    argv = [sys.executable, "-P", "-m", "tiptoe", "--home", str(home), *command]
    child = subprocess.Popen(argv, env=env, stdout=sys.stderr)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # the same Ctrl-C reached it: it settles, says so and ends


def _tell(engine: "Engine", sites: "DemoWeb", name: str, home: Path, *, as_json: bool) -> None:
    from app.admin.crawls import find
    from app.store import by_host, db

    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        brought = {each.host: each for each in by_host.brought(tx, crawl.created_at)}
        refused = by_host.refused(tx, crawl.id)
    if as_json:
        show_json(_document(sites, crawl, home, brought, refused))
        return
    say("")
    for line in lines(sites, brought, refused):
        say(line)
    say("")
    for line in looks(name, home, sites):
        say(line)


def _document(
    sites: "DemoWeb", crawl: "Crawl", home: Path, brought: "dict[str, BroughtByHost]", refused: "Sequence[RefusedThere]"
) -> dict[str, object]:
    hosts = [
        {
            "host": site.name,
            "asked": sites.asked[site.name],
            **(brought[site.name]._asdict() if site.name in brought else {}),
            "refused": {each.reason: each.urls for each in refused if each.host == site.name},
        }
        for site in sites.sites
    ]
    return {"crawl": crawl.name, "state": crawl.state, "home": home, "hosts": hosts}


def lines(sites: "DemoWeb", brought: "dict[str, BroughtByHost]", refused: "Sequence[RefusedThere]") -> list[str]:
    """Lines on each host: its doings by the crawler's log, and whether it counted as many requests."""
    from app.words import counted

    found = []
    for site in sites.sites:
        asked, here = sites.asked[site.name], brought.get(site.name)
        found.append(f"{site.name}: {site.shows}")
        if here is None:
            found.append(f"  it was not contacted ({counted(asked, 'request')} by its own count)")
            continue
        delays = f"{here.least_delay_s:.3g}"
        if here.most_delay_s > 1.05 * here.least_delay_s:
            delays += f" to {here.most_delay_s:.3g}"
        found.append(f"  {counted(here.pages, 'page')} by {counted(here.requests, 'request')}, {delays} s apart")
        said = [f"{counted(here.rate_limited, 'answer')} of 429"] if here.rate_limited else []
        said += [f"{counted(here.missing, 'page')} missing"] if here.missing else []
        said += [f"{counted(each.urls, 'URL')} refused ({each.reason})" for each in refused if each.host == site.name]
        found += [f"  {each}" for each in said]
        if asked != here.requests:
            found.append(f"  by its own count {counted(asked, 'request')}: those in hand at the end are not in the log")
    return found


def looks(name: str, home: Path, sites: "DemoWeb") -> list[str]:
    """Commands to look at it with."""
    from app.local.demo import BUSY, CALENDAR, PRIVATE

    tiptoe = f"tiptoe --home {near(home)}"
    return [
        "look at it:",
        f"  {tiptoe} audit {name}",
        "    the proof from the log that no host was asked too soon",
        f"  {tiptoe} host show {BUSY}",
        "    why it is slower now, and until when it rests",
        f"  {tiptoe} host patterns {CALENDAR}",
        "    how a trap differs from pages, by its patterns of URLs",
        f"  {tiptoe} url why http://{PRIVATE}:{sites.port}/",
        "    which line of robots.txt forbids it",
        f"its data stays in {near(home)}; delete the folder when you are done",
    ]
