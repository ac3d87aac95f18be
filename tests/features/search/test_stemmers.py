"""Which configuration a language has, of those that a Postgres has."""

from app.features.search import stemmers


def test_a_language_has_its_stemmer_where_postgres_has_it() -> None:
    assert stemmers.stemmers({"simple", "english", "german"}) == {"en": "english", "de": "german"}


def test_the_written_norwegians_share_one() -> None:
    assert set(stemmers.stemmers({"norwegian"})) == {"nb", "nn", "no"}


def test_simple_is_always_among_them() -> None:
    assert stemmers.configs([]) == ["simple"]
    assert stemmers.configs(["simple", "german", "unknown"]) == ["german", "simple"]
