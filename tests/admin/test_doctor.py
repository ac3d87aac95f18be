"""Each thing that can be out of order is named, with what to do about it; what is in order is not complained about."""

import os
import stat
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.admin import doctor
from app.admin.check import MOST_NAMED, Check, Grade, broken
from app.config import Settings
from app.crawl.state.seen import KnownKeys
from app.crawl.state.worker import Worker
from app.errors import ServiceError, SettingError
from app.store import db
from tests.crawl.loop import go, make_settings, start
from tests.crawl.web import Web, html
from tests.store.rows import sql


def the(checks: list[Check], name: str) -> Check:
    (found,) = [check for check in checks if check.name == name]
    return found


def configured(tmp_path: Path, **overrides: object) -> list[Check]:
    return doctor.configuration(make_settings("postgresql://x/y", **{"home": tmp_path, **overrides}), [])


def test_all_well(tmp_path: Path) -> None:
    checks = configured(tmp_path, contact="you@example.org")
    assert {check.name: check.grade for check in checks} == {"settings": "ok", "contact": "ok", "home": "ok"}
    assert the(checks, "contact").finding == "Tiptoe, you@example.org"


def test_misspelt_variables_are_named(tmp_path: Path) -> None:
    settings = make_settings("postgresql://x/y", home=tmp_path)
    checks = doctor.configuration(settings, ["TIPTOE_CONTCAT"])
    assert [(check.grade, check.finding) for check in checks if check.name == "settings"] == [
        ("ok", "valid"),
        ("warn", "TIPTOE_CONTCAT is not a setting"),
    ]


# contact, product token → grade
@pytest.mark.parametrize(
    ("contact", "token", "grade"),
    [
        (None, "Tiptoe", "warn"),
        ("you@example.org", "Mozilla", "fail"),
        ("nonsense", "Tiptoe", "fail"),
        ("https://example.org/us", "Tiptoe", "ok"),
    ],
)
def test_contact(tmp_path: Path, contact: str | None, token: str, grade: str) -> None:
    check = the(configured(tmp_path, contact=contact, product_token=token), "contact")
    assert check.grade == grade
    assert bool(check.remedy) == (grade != "ok")


def test_a_home_that_is_not_there_yet_is_judged_by_its_parent(tmp_path: Path) -> None:
    assert the(configured(tmp_path, home=tmp_path / "a" / "b"), "home").grade is Grade.OK


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check = the(configured(tmp_path, home=tmp_path / "file"), "home")
    assert (check.grade, check.remedy) == (Grade.FAIL, "set TIPTOE_HOME to a folder of your own")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert the(configured(tmp_path, home=tmp_path / "a"), "home").grade is Grade.FAIL


def test_errors_keep_their_remedy() -> None:
    assert broken("a", ServiceError("Postgres at x", "start it")) == Check(
        name="a", grade=Grade.FAIL, finding="Postgres at x", remedy="start it"
    )
    assert broken("a", SettingError("TIPTOE_X='y'", "z")).remedy == "z"


def test_database_in_order(engine: Engine) -> None:
    """With sessions as the product opens them: those of `engine` may stand open for as long as a test takes."""
    ours = db.connect(engine.url.render_as_string(hide_password=False))
    assert [(check.name, check.grade) for check in doctor.database(ours)] == [("database", "ok"), ("schema", "ok")]
    ours.dispose()


def test_database_out_of_reach() -> None:
    (check,) = doctor.database(db.connect("postgresql://u:secret@127.0.0.1:1/x"))
    assert (check.name, check.grade) == ("database", Grade.FAIL)
    assert "secret" not in check.finding + check.remedy


# revision → finding
@pytest.mark.parametrize(
    ("revision", "remedy"),
    [("'0000'", "upgrade Tiptoe here"), ("'9999'", "upgrade Tiptoe here"), (None, "tiptoe db upgrade")],
)
def test_schema(make_database: Callable[[], str], revision: str | None, remedy: str) -> None:
    engine = db.connect(make_database(), pool_size=1)
    sql(engine, f"UPDATE alembic_version SET version_num = {revision}" if revision else "DROP TABLE alembic_version")
    check = the(doctor.database(engine), "schema")
    assert (check.grade, check.remedy) == (Grade.FAIL, remedy)
    engine.dispose()


def fleet(worker: Worker, served: dict[str, list[str]], settings: Settings | None = None) -> list[Check]:
    return doctor.fleet(worker.engine, settings or worker.settings, served)


def everything(worker: Worker) -> dict[str, list[str]]:
    return {"celery@a": list(worker.settings.queue_names)}


def test_an_idle_fleet_is_well(worker: Worker) -> None:
    assert {check.name: check.grade for check in fleet(worker, {})} == {
        "workers": "ok",
        "queues": "ok",
        "beat": "ok",
        "frontier": "ok",
        "backlog": "ok",
    }


@pytest.mark.parametrize(("last", "grade"), [(10_000, Grade.OK), (10_001, Grade.WARN)])
def test_a_long_queue_of_a_feature_is_told(worker: Worker, last: int, grade: Grade) -> None:
    for n in (1, last):
        query = "INSERT INTO near_queue (id, host_id, crawl_id, key) OVERRIDING SYSTEM VALUE VALUES (:n, 1, 1, 'k')"
        sql(worker.engine, query, n=n)
    check = the(fleet(worker, {}), "backlog")
    assert check.grade == grade
    assert f"{last:,} pages for near_duplicates" in check.finding
    assert ("more workers" in check.remedy) is (grade is Grade.WARN)


def test_a_working_fleet_is_well(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    checks = fleet(worker, everything(worker))
    assert {check.grade for check in checks} == {Grade.OK}
    assert "celery@a" in the(checks, "workers").finding
    assert "last visit" in the(checks, "beat").finding


def test_work_and_no_worker(worker: Worker) -> None:
    start(worker, "http://a.test/")
    check = the(fleet(worker, {}), "workers")
    assert (check.grade, check.finding) == (Grade.WARN, "none answers, and 1 crawl is active")


def test_a_queue_that_nobody_serves(worker: Worker) -> None:
    start(worker, "http://a.test/")
    check = the(fleet(worker, {"celery@a": ["maintenance"]}), "queues")
    assert check.grade is Grade.FAIL
    assert "which nobody serves" in check.finding
    assert "-Q host-0" in check.remedy


def test_a_queue_that_no_setting_names(worker: Worker) -> None:
    """A pin from when the settings were others: not even beat claims from it."""
    start(worker, "http://a.test/")
    sql(worker.engine, "UPDATE hosts SET queue = 'old-pin'")
    check = the(fleet(worker, everything(worker)), "queues")
    assert check.grade is Grade.FAIL
    assert "1 host waits on queue old-pin, which no setting names" in check.finding


def test_hosts_that_nobody_dispatches(worker: Worker) -> None:
    start(worker, "http://a.test/")
    assert the(fleet(worker, everything(worker)), "beat").grade is Grade.OK
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now() - interval '5 minutes'")
    check = the(fleet(worker, everything(worker)), "beat")
    assert check.grade is Grade.WARN
    assert check.finding.startswith("1 host is overdue, the first since ")
    assert "no visit yet" in check.finding


def test_known_keys_of_each_worker_are_shown() -> None:
    load = KnownKeys(1_000).load()
    found = doctor.known_keys({f"w{n}@h": asdict(load) for n in range(12, 0, -1)})
    assert len(found) == MOST_NAMED
    assert found[0] == Check(name="known keys", grade=Grade.OK, finding=f"w10@h: {load.text()}")
    assert doctor.known_keys({}) == []


def test_hosts_of_a_clock_that_was_set_back_are_named(worker: Worker, web: Web) -> None:
    web.site().pages["/"] = html()
    start(worker, web.sites[0].url())
    go(worker)
    assert not [check for check in doctor.fleet(worker.engine, worker.settings, {}) if check.name == "clock"]
    sql(worker.engine, "UPDATE hosts SET last_contact_at = last_contact_at + interval '40 days' RETURNING id")
    check = the(doctor.fleet(worker.engine, worker.settings, {}), "clock")
    assert check.grade == "warn"
    assert check.finding.startswith("set back: 1 host had the last contact as late as 20")
