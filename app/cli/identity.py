"""`tiptoe identity`: shows how sites see us, and writes the page for their owners."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.out import AsJson, answer, facts, say, show_json, write_file

app = typer.Typer(no_args_is_help=True, help="How sites see us: the headers we send, and a page for their owners.")

EXAMPLE = "https://example.org/"


@app.command()
def show(as_json: AsJson = False) -> None:
    """Show the headers of a request for a page, as they would go out now: signed, if a key is set."""
    from app.config import load
    from app.crawl.state.setup import make_sender
    from app.model import Request

    settings = load()
    fields = make_sender(settings).fields(Request(url=EXAMPLE))
    show_json(fields) if as_json else facts(fields.items(), indent="")
    if settings.contact is None:
        say("no public host is contacted without TIPTOE_CONTACT, a mail address or a URL")


@app.command()
def page(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for index.html and addresses.json.")],
    as_json: AsJson = False,
) -> None:
    """Write the page for site owners: who we are, how to slow or stop us, how to verify us; and our addresses as
    JSON."""
    from datetime import UTC, datetime

    from app.admin import site_owners
    from app.config import load

    settings = load()
    files = {out / name: text for name, text in site_owners.files(settings, datetime.now(UTC)).items()}
    for path, text in files.items():
        write_file(path, text)
    show_json({"files": list(files)}) if as_json else answer("\n".join(map(str, files)))
    wanted = {
        "TIPTOE_INFO_URL": (settings.info_url, "the address of this page, for our User-Agent"),
        "TIPTOE_PURPOSE": (settings.purpose, "what the crawl is for"),
        "TIPTOE_CRAWL_ADDRESSES": (settings.crawl_addresses, "where we crawl from: addresses.json is empty"),
    }
    for name, (value, what) in wanted.items():
        if not value:
            say(f"{name} is not set: {what}")
