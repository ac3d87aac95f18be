"""The properties of `targets.py`, under inputs that hypothesis makes: of a format's words, of the corpus, and of noise.

A fault is printed with the input, and with a line for `@reproduce_failure` to put above `test_properties_hold`. With CI
set the inputs are the same each time. Keep what found a fault: write it to corpus/<target>/bug-<what it was>.
"""

import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.fuzz.targets import TARGETS, Target

EXAMPLES = examples(300)
NOISE = st.binary(max_size=12)


@st.composite
def soup(draw: st.DrawFn, target: Target) -> bytes:
    """Words of the format and noise, in any order."""
    words = st.sampled_from(target.words())
    return b"".join(draw(st.lists(st.one_of(words, words, words, NOISE), max_size=20)))


@st.composite
def spoilt(draw: st.DrawFn, target: Target) -> bytes:
    """An input of the corpus with a few bad places."""
    body = draw(st.sampled_from(target.inputs())).read_bytes()
    words = st.sampled_from(target.words())
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(body)))
        gone = draw(st.integers(0, 20))
        body = body[:at] + draw(st.one_of(words, NOISE)) + body[at + gone :]
    return body


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of `re`, about patterns
@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
def test_properties_hold(target: Target) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="CI" in os.environ,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.one_of(soup(target), spoilt(target), st.binary(max_size=400)))
    @example(data=b"")
    def hold(data: bytes) -> None:
        target.check(data)

    hold()
