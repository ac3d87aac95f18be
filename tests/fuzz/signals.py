"""What must hold of what sites ask for in headers and <meta>, and of the lines that are kept of it."""

from app.errors import InputError
from app.model import Header
from app.parse import charset
from app.parse.html import html
from app.policy import directives, header_fields, tdm
from app.policy.moment import Hours
from app.policy.robots import FRESH_S, fresh_for_s
from tests.fuzz.parts import NOW, TOKEN, assert_storable, assert_told, text

_CAP_S = 86_400.0


def header(data: bytes) -> None:
    """The value of a header, whichever: every reader of one gets it. As the wire has it, and as a document may."""
    for value in {data.decode("latin-1"), text(data)}:
        _retry_after(value)
        _directives(value)
        _tdm(value)
        _hours(value)
        assert 300.0 <= fresh_for_s(value) <= FRESH_S
        _content_type(value)


def assert_signals(signals: tuple[tdm.Signal, ...]) -> None:
    """Statements fit for the record, whose line still says whether anything is reserved."""
    assert_storable(signals)
    for signal in signals:
        assert signal.name
        assert signal.value.isprintable()
        assert len(signal.value) <= tdm.MAX_VALUE_CHARS
    line = tdm.text(signals)
    assert (line is None) is (not signals)
    assert len(line or "") <= tdm.MAX_TEXT_CHARS
    assert tdm.was_reserved(line) is tdm.reserved(signals)


def assert_directives(said: directives.Directives) -> None:
    """What is kept of them says the same when it is read again, as it is after a 304."""
    assert_storable(said)
    assert len(said.names) <= directives.MAX_NAMES
    assert all(0 < len(name) <= directives.MAX_NAME_CHARS and name.isprintable() for name in said.names)
    assert directives.read(None, (said.text or "").split(","), TOKEN, now=NOW) == said


def _retry_after(value: str) -> None:
    longest = header_fields.retry_after(value, now=NOW, cap_s=1e12)
    found = header_fields.retry_after(value, now=NOW, cap_s=_CAP_S)
    assert found == (None if longest is None else min(longest, _CAP_S))
    assert found is None or found >= 0


def _directives(value: str) -> None:
    assert_directives(directives.read(value, (), TOKEN, now=NOW))
    assert_directives(directives.read(None, value.split(","), TOKEN, now=NOW))


def _tdm(value: str) -> None:
    names = (Header.CONTENT_USAGE, Header.CONTENT_SIGNAL, Header.TDM_RESERVATION, Header.TDM_POLICY)
    for name in names:
        assert_signals(tdm.of_reply({name.value: value}))
    assert_signals((*tdm.of_reply(dict.fromkeys(names, value)), *tdm.of_directives(True)))
    assert_signals(tdm.of_meta({name.value: value for name in names}))


def _hours(value: str) -> None:
    try:
        window = Hours.parse(value)
    except InputError as error:
        assert_told(error, repr(value))
        return
    assert Hours.parse(str(window)) == window
    assert window.contains(NOW) is (window.until_start_s(NOW) == 0)
    assert 0 <= window.until_start_s(NOW) <= 86_400
    assert 0 <= window.until_end_s(NOW) <= 86_400


def _content_type(value: str) -> None:
    found, encoding = charset.decode(b"caf\xe9", value)
    assert_storable(found)
    assert encoding in charset.ENCODINGS
    assert_storable(html.read(b"<p>caf\xe9", content_type=value, content_language=value))
