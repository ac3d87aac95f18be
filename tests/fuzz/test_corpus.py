"""Every input that was ever worth keeping, once more: what reached new code, and what a fault was found with."""

import pytest

from tests.fuzz.keep import MOST_BYTES, MOST_FILES
from tests.fuzz.targets import HERE, TARGETS, Target


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of `re`, about patterns
@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_what_was_found_stays_mended(target: Target) -> None:
    for file in target.inputs():
        try:
            target.check(file.read_bytes())
        except Exception as error:
            error.add_note(f"input: {file.name}")
            raise


@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
def test_corpora_are_there_and_small(target: Target) -> None:
    sizes = [file.stat().st_size for file in target.inputs()]
    assert 0 < len(sizes) <= MOST_FILES
    assert sum(sizes) <= MOST_BYTES


def test_nothing_else_is_kept() -> None:
    assert {file.name for file in (HERE / "corpus").iterdir()} == set(TARGETS)
    assert {file.stem for file in (HERE / "words").iterdir()} == set(TARGETS)
