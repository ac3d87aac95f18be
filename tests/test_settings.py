"""Settings that cannot be."""

import pytest

from app.config import load
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
