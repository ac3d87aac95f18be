"""What must hold of RSL licences: no bytes raise, what is read is read whole, and its rows mean what it means."""

from app.features.rights import rsl
from app.features.rights.purpose import Purpose, PurposeAnswer, verdicts
from app.model import Url
from app.policy.url import Canon
from tests.fuzz.parts import assert_storable, lines, text

FILE = "https://a.test/license.xml"


def licence(data: bytes) -> None:
    """Two lines: path and query, and the file."""
    first, body = lines(data, 2)
    reading = rsl.read(body)
    assert (reading.contents is None) == (reading.problem is not None)
    url = Canon().canonicalise(f"https://a.test/{text(first)}")
    if reading.contents is None or not isinstance(url, Url):
        return
    rows = rsl.as_rows(reading.contents)
    found = rsl.LicenceTerms(reading.contents, FILE, url.host).of(url)
    assert rsl.LicenceTerms(rsl.of_rows(rows), FILE, url.host).of(url) == found
    assert len(found) <= len(Purpose)
    for each in found:
        assert_storable(each.source)
        answer = verdicts(found)[Purpose(each.name)].answer
        assert answer is {"no": PurposeAnswer.REFUSED, "yes": PurposeAnswer.ALLOWED}.get(
            each.value, PurposeAnswer.UNKNOWN
        )
