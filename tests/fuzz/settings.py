"""What must hold of what operators and owners write: settings, seed lines, key files. It is taken, or refused in
words."""

import io
import ipaddress
import math
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.admin.seeds import MOST_BAD_LINES, BadSeeds, urls_in
from app.admin.seeds import seeds as seeds_in
from app.config import Settings, load
from app.config.constants import variable
from app.crawl.state.canon import make_canon, make_resolver
from app.crawl.state.slot import SharedBudgets
from app.errors import InputError, SettingError
from app.model import Url
from app.net import signature
from app.net.address import make_guard
from app.policy import identity
from app.store import db
from tests.fuzz.parts import assert_told
from tests.fuzz.urls import CANON, assert_canonical

_NAMES = {variable(name) for name in Settings.model_fields}
_FORMS = ("http://h.example/a?tracked=1&b=2", "https://h.example/?B=1&b=2&utm_source=x")


def environment(data: bytes) -> None:
    """A line NAME=value for each variable."""
    written = dict(line.split(b"=", 1) for line in data.split(b"\n") if b"=" in line)
    variables = {os.fsdecode(name): os.fsdecode(value) for name, value in written.items()}
    with _environment({name: value for name, value in variables.items() if name in _NAMES and "\0" not in value}):
        _loads(None)


def dotenv(data: bytes) -> None:
    """The .env file."""
    with tempfile.TemporaryDirectory() as folder, _environment({}):
        file = Path(folder, ".env")
        file.write_bytes(data)
        _loads(file)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.pop(name) for name in _NAMES if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


def _loads(env_file: Path | None) -> None:
    try:
        settings = load(_env_file=env_file)
    except SettingError as error:
        what = next(
            text for name in _NAMES for text in (f"{name}=", f"{name} is not set") if error.what.startswith(text)
        )
        assert_told(error, what)
        return
    except InputError as error:
        assert_told(error, "the file .env")
        return
    for name, value in settings:
        assert not isinstance(value, float) or math.isfinite(value), name
        assert "\0" not in str(value), name
    _can_be_used(settings)


def _can_be_used(settings: Settings) -> None:
    """By all that takes settings in hand without asking anybody else."""
    assert len(settings.queue_names) >= settings.queues
    make_guard(settings.networks)
    make_resolver(settings)
    budgets = SharedBudgets(settings)
    for address in ("192.0.2.1", "2001:db8::1"):
        for budget in budgets.of(address, "h.example"):
            assert budget.gap_s > 0
    assert all(ipaddress.ip_network(str(network)) == network for network, _ in settings.fronts)
    canon = make_canon(settings)
    for form in _FORMS:
        found = canon.canonicalise(form)
        assert isinstance(found, Url)
        again = canon.canonicalise(found.text)
        assert isinstance(again, Url)
        assert again[:4] == found[:4]
    try:
        fields = identity.headers(
            token=settings.product_token,
            version="0.1.0",
            contact=settings.contact,
            info_url=settings.info_url,
            purpose=settings.purpose,
        )
        assert all(re.fullmatch("[ -~]+", value) for value in fields.values())
        if settings.database_url is not None:
            db.connect(settings.database_url).dispose()
    except InputError as error:
        assert_told(error, "")


def seeds(data: bytes) -> None:
    """The file. Every line is a seed, or told by its number, or none."""
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace") as file:
        written = list(file)
    bad_seeds = BadSeeds()
    found = list(urls_in(CANON, written, bad_seeds))
    for url in found:
        assert_canonical(url)
        for record in (url.text, f'"{url.text}",x', f"{url.text}\tx,y"):
            ((_, text),) = seeds_in([record])
            assert CANON.canonicalise(text) == url or '"' in url.text
    passed_over = [line for line in written if not line.strip().lstrip("\ufeff") or _is_comment(line)]
    assert len(found) + bad_seeds.count + len(passed_over) == len(written)
    assert len(bad_seeds.first) == min(bad_seeds.count, MOST_BAD_LINES)
    for bad in bad_seeds.first:
        assert str(bad).isprintable()
        assert bad.why
        assert bad.text in written[bad.line - 1]


def _is_comment(line: str) -> bool:
    return line.strip().lstrip("\ufeff").startswith("#")


def key(data: bytes) -> None:
    """The file of a private key."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "key")
        file.touch(mode=0o600)
        file.write_bytes(data)
        try:
            found = signature.load(file)
        except InputError as error:
            assert_told(error, str(file))
            return
        again = Path(folder, "again")
        again.touch(mode=0o600)
        private = signature._base64(found.private_bytes_raw())
        again.write_text(f'{{"kty":"OKP","crv":"Ed25519","d":"{private}"}}')
        assert signature.thumbprint(signature.load(again).public_key()) == signature.thumbprint(found.public_key())
