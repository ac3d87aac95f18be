"""`tiptoe botauth`: the key that signs our requests, and the directory where sites find its public half.

`tiptoe identity`: shows how sites see us, and writes the page for their owners.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.out import AsJson, answer, done, facts, say, show_json, write_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from app.config import Settings

app = typer.Typer(
    no_args_is_help=True, help="Web Bot Auth: sign every request, so that sites can tell us from impostors."
)

KEY_NAME = "signing-key.json"
identity = typer.Typer(no_args_is_help=True, help="How sites see us: the headers we send, and a page for their owners.")

EXAMPLE = "https://example.org/"


@app.command()
def keygen(
    out: Annotated[
        Path | None, typer.Option(help="File for the private key.", show_default=f"{KEY_NAME} in TIPTOE_HOME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key in a file that only you can read. Print its thumbprint, and what to do next."""
    from app.net import signature

    path = out if out is not None else _home() / KEY_NAME
    keyid = signature.thumbprint(signature.create(path).public_key())
    done(keyid, as_json=as_json, keyid=keyid, path=path.absolute())
    say("that is its thumbprint (keyid); keep the private key secret:")
    say(f"  {path.absolute()}")
    say("next, with an origin of yours in place of https://bot.example.org:")
    say(f"  export TIPTOE_SIGNING_KEY={path.absolute()}")
    say("  export TIPTOE_SIGNATURE_AGENT=https://bot.example.org")
    say("  tiptoe botauth directory --out FOLDER  # its public half, for that origin")


@app.command()
def directory(
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="Private key to list (may be repeated: the old and the new one).", show_default="TIPTOE_SIGNING_KEY"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write it in this folder, at its well-known path.")
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve it, signed, until Ctrl-C.")] = False,
    host: Annotated[str, typer.Option(help="Address to serve at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve at; 0: any free one.")] = 8080,
    as_json: AsJson = False,
) -> None:
    """Show the key directory: the public keys, as sites look them up.

    It is printed, unless an option writes or serves it.
    """
    from app.config import load
    from app.errors import InputError
    from app.net.signature import DIRECTORY_PATH, DIRECTORY_TYPE, directory_body

    if serve and out is not None:
        raise InputError("--serve --out", "exclude each other; serve the directory, or write it as a file")
    settings = load()
    keys = _keys(settings, key)
    if serve:
        _serve(settings, keys, host, port)
        return
    body = directory_body(each.public_key() for each in keys).decode()
    if out is None:
        answer(body, end="")
        return
    path = out / DIRECTORY_PATH.lstrip("/")
    write_file(path, body)
    done(str(path), as_json=as_json, path=path, content_type=DIRECTORY_TYPE)
    say(f"serve it over https with Content-Type: {DIRECTORY_TYPE}")


def _home() -> Path:
    from app.config import load

    return load().home


def _keys(settings: "Settings", files: list[Path] | None) -> "list[Ed25519PrivateKey]":
    from app.errors import InputError
    from app.net import signature

    paths = files or ([settings.signing_key] if settings.signing_key else [])
    if not paths:
        raise InputError("no signing key", "set TIPTOE_SIGNING_KEY, or give --key; tiptoe botauth keygen makes one")
    keys = {signature.thumbprint(key.public_key()): key for key in map(signature.load, paths)}
    return list(keys.values())


def _serve(settings: "Settings", keys: "list[Ed25519PrivateKey]", host: str, port: int) -> None:
    from app.admin.key_directory import KeyDirectory
    from app.errors import InputError
    from app.net.signature import DIRECTORY_PATH

    agent = settings.signature_origin
    if agent is None:
        raise InputError(
            "TIPTOE_SIGNATURE_AGENT is not set",
            "set it to the origin where sites look the directory up; answers are signed for it",
        )
    with KeyDirectory(keys, agent, host=host, port=port) as server:
        where = f"[{host}]" if ":" in host else host
        say(f"http://{where}:{server.server_address[1]}{DIRECTORY_PATH}, signed for {agent}; Ctrl-C ends it")
        server.serve_forever()


@identity.command()
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


@identity.command()
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
