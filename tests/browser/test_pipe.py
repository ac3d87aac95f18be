"""What a browser says is bounded in octets, whatever the page in it does."""

import os
import select
import threading

import pytest

from app.browser.connection import MESSAGE_BYTES_MOST, DevToolsPipe


def noise(text: str) -> bytes:
    return b'{"method":"Runtime.consoleAPICalled","params":{"args":[{"value":"%s"}]}}\0' % text.encode()


# octets of what a page logs → whether it is kept
@pytest.mark.parametrize(("n", "kept"), [(10, True), (60_000, True), (70_000, False), (5_000_000, False)])
def test_noise_of_any_length_takes_no_memory(n: int, kept: bool) -> None:
    """Each of two hundred messages may be as long as a page likes; what comes after them is handled."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    pipe = DevToolsPipe(ours_in, ours_out)
    writing = threading.Thread(target=lambda: [os.write(theirs_out, part) for part in parts(noise("x" * n) * 3)])
    writing.start()
    writing.join(60)
    os.write(theirs_out, b'{"id":1,"result":{}}\0')
    os.close(theirs_out)
    found = list(iter(lambda: pipe.events.get(timeout=60), None))
    assert [each.get("method", each.get("id")) for each in found] == ["Runtime.consoleAPICalled"] * 3 * kept + [1]
    pipe.close()
    os.close(theirs_in)


def test_a_message_without_an_end_is_the_browsers() -> None:
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    pipe = DevToolsPipe(ours_in, ours_out)
    os.set_blocking(theirs_out, False)
    chunk, wrote = b"x" * 2**20, 0
    try:
        while pipe.events.empty() and wrote <= 2 * MESSAGE_BYTES_MOST:
            wrote += os.write(theirs_out, chunk) if select.select([], [theirs_out], [], 0.1)[1] else 0
    finally:
        os.close(theirs_out)
    assert pipe.events.get(timeout=60) is None
    assert MESSAGE_BYTES_MOST <= wrote <= MESSAGE_BYTES_MOST + 2**20
    pipe.close()
    os.close(theirs_in)


def parts(octets: bytes) -> list[bytes]:
    return [octets[at : at + 2**16] for at in range(0, len(octets), 2**16)]
