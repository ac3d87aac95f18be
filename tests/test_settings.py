"""Settings that cannot be, or that nobody has."""

from pathlib import Path

import pytest

from app.config import load, unknown_variables
from app.errors import InputError


@pytest.mark.parametrize("name", ["database_url", "broker_url"])
def test_a_password_is_not_told(name: str) -> None:
    with pytest.raises(InputError) as refused:
        load(**{name: "postgresql://user:secret@host/\0"})
    assert f"TIPTOE_{name.upper()}=" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_any_other_value_is() -> None:
    with pytest.raises(InputError, match="TIPTOE_LEASE_S=1: must be at least"):
        load(lease_s=1)


def test_unknown_variables_are_found_in_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPTOE_CONTCAT", "x")
    (tmp_path / ".env").write_text("TIPTOE_DEFAULT_DELAY=5\nTIPTOE_CONTACT=you@example.org\nPOSTGRES_PASSWORD=x\n")
    assert unknown_variables() == ["TIPTOE_CONTCAT", "TIPTOE_DEFAULT_DELAY"]
