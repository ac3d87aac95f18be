"""Fingerprints: what turns few bits and what turns many, and keys that lose nothing within five bits."""

import random
import tracemalloc
from hashlib import blake2b
from itertools import combinations

import pytest

from app.features.near import simhash as module
from app.features.near.fingerprint import BITS, DUPLICATE_BITS, LEAST_PHRASES, PROBES, keys, words_of
from app.features.near.simhash import Print, Prints, simhash

RNG = random.Random(7)
WORDS = ["".join(RNG.choices("abcdefghijklmnopqrstuvwxyz", k=RNG.randint(2, 9))) for _ in range(3_000)]

GOLDEN = 0x9A9765F67C4F6DCC


def text(n: int, seed: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=n)


def fingerprint(words: list[str]) -> int:
    found = simhash(words)
    assert found is not None
    return found


# words of a text, the words put in the place of its first ones → bits that differ at most, and at least
@pytest.mark.parametrize(
    ("n", "changed", "least", "most"),
    [(300, 0, 0, 0), (300, 1, 0, 5), (2_000, 5, 0, 5), (300, 150, 10, 32), (300, 300, 18, 46), (2_000, 2_000, 18, 46)],
)
def test_bits_differ_as_phrases_do(n: int, changed: int, least: int, most: int) -> None:
    for seed in range(5):
        words = text(n, seed)
        bits = (fingerprint(words) ^ fingerprint(text(changed, seed + 100) + words[changed:])).bit_count()
        assert least <= bits <= most


def test_a_fingerprint_is_the_same_in_every_process_and_release() -> None:
    assert fingerprint(words_of("the quick brown fox jumps over the lazy dog " * 2 + " ".join(WORDS[:60]))) == GOLDEN


@pytest.mark.parametrize("n", [52, 53, 66, 67, 130, 1_001, 4_096, 4_097, 9_000])
def test_each_bit_is_as_most_phrases_have_it(n: int) -> None:
    """Counted one by one, as Charikar describes it. A tie is a zero."""
    words = [*text(n - 7, n), *text(7, n)]
    hashes = [int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little") for word in words]
    turned = [[each >> by | each << BITS - by & 2**BITS - 1 for each in hashes] for by in (0, 24, 48)]
    phrases = {one ^ two ^ three for one, two, three in zip(turned[0], turned[1][1:], turned[2][2:], strict=False)}
    ones = [sum(each >> bit & 1 for each in phrases) for bit in range(BITS)]
    assert fingerprint(words) == sum(1 << bit for bit, count in enumerate(ones) if 2 * count > len(phrases))


def test_the_order_of_words_counts() -> None:
    words = text(400, 1)
    assert (fingerprint(words) ^ fingerprint(sorted(words))).bit_count() > DUPLICATE_BITS


def test_a_phrase_counts_once() -> None:
    words = text(200, 2)
    assert fingerprint([*words, *["0"] * 5_000]) == fingerprint([*words, *["0"] * 5])


@pytest.mark.parametrize("n", [0, 1, 2, LEAST_PHRASES + 1])
def test_a_short_text_has_none(n: int) -> None:
    assert simhash(text(n, 3)) is None


def test_a_long_text_that_repeats_itself_is_short() -> None:
    assert simhash(text(20, 3) * 50) is None


def test_words_of_scripts_without_blanks_are_letters() -> None:
    assert words_of("検索エンジンの robots") == [*"検索エンジンの", "robots"]


@pytest.mark.parametrize("bound", [chr(n) for n in (0x0E00, 0x0E7F, 0x3040, 0x30FF, 0x3400, 0x4E00, 0x9FFF)])
def test_each_letter_of_such_a_script_is_a_word(bound: str) -> None:
    assert words_of(f"a{bound}b") == ["a", bound, "b"]


@pytest.mark.parametrize(
    "word", ["naïve", "a\u0dffb", "a\u0e80b", "a\u303fb", "a\u3100b", "a\ua000b", "a\udcffb", "a😀b"]
)
def test_other_letters_are_not(word: str) -> None:
    assert words_of(word) == [word]


def test_words_forgotten_keep_their_hashes() -> None:
    words = text(100, 4)
    before = fingerprint(words)
    for n in range(module._MOST_REMEMBERED + 1):
        _ = module._hashes[f"w{n}"]
    assert len(module._hashes) <= module._MOST_REMEMBERED
    assert fingerprint(words) == before


def test_fingerprints_within_five_bits_find_each_other() -> None:
    value = fingerprint(text(300, 5))
    looked_up = {keys(value)[n] ^ turned for n, turned in PROBES}
    everywhere = [sum(1 << bit for bit in bits) for bits in combinations(range(0, BITS, 3), DUPLICATE_BITS)]
    assert all(not looked_up.isdisjoint(keys(value ^ turned)) for turned in everywhere)


def test_there_are_3_keys_and_each_says_which_block_it_is_of() -> None:
    assert len({*keys(0), *keys((1 << BITS) - 1)}) == 6
    assert len(PROBES) == len(set(PROBES)) == BITS + 3


def test_long_texts_leave_nothing_behind() -> None:
    """Twenty texts of 5,000 words, each of another length."""
    words = text(5_000, 4)
    fingerprint(words)
    tracemalloc.start()
    for n in range(20):
        fingerprint(words[n:])
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 100_000


def test_long_words_are_not_remembered() -> None:
    """Of 20,000 words a site may make each as long as it likes: they took 370 MB."""
    module._hashes.clear()
    tracemalloc.start()
    for n in range(20):
        assert simhash([f"{n} {m}" + "\N{GRINNING FACE}" * 5_000 for m in range(50)]) is not None
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 100_000


def test_many_that_are_all_alike_take_the_memory_of_some_pairs() -> None:
    """A family without end: the pairs of a lot would be ten million."""
    family = Prints.of(Print(id, id, id % 8) for id in range(20_000))
    lot = Prints.of(Print(100_000 + id, 100_000 + id, id % 8) for id in range(500))
    tracemalloc.start()
    try:
        found = family.alike(lot, bits=DUPLICATE_BITS, most=8)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(found), {like.bits for like in found}) == (500 * 8, {0})
    assert most < 60_000_000
