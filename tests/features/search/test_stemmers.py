"""Which configuration a language has, of those that a Postgres has."""

from app.features.search import rows


def test_a_language_has_its_stemmer_where_postgres_has_it() -> None:
    assert rows.stemmers({"simple", "english", "german"}) == {"en": "english", "de": "german"}


def test_the_written_norwegians_share_one() -> None:
    assert set(rows.stemmers({"norwegian"})) == {"nb", "nn", "no"}


def test_simple_is_always_among_them() -> None:
    assert rows.stemming([]) == ["simple"]
    assert rows.stemming(["simple", "german", "unknown"]) == ["german", "simple"]
