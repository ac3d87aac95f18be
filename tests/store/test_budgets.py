"""Shared budgets: starts are a gap apart whoever asks, a crowd queues without a stampede, what rests is probed by
one."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine

from app.model import Rest, RestReason
from app.store import budgets, db
from app.store.budgets import Budget, BudgetAnswer, BudgetKind, StartTerms
from tests.store.rows import Aside, await_blocked, backend, one, sql

ADDRESS = Budget(BudgetKind.ADDRESS, "192.0.2.1", 10.0)
DOMAIN = Budget(BudgetKind.DOMAIN, "example.org", 100.0)
EVERYTHING = Budget(BudgetKind.ALL, "all", 1.0)


def ask(
    engine: Engine,
    *wanted: Budget,
    host_id: int = 1,
    ready_in_s: float = 0.0,
    horizon_s: float = 0.5,
    ticket: bool = False,
) -> BudgetAnswer:
    with db.transaction(engine) as tx:
        return budgets.reserve(tx, wanted, StartTerms(host_id, ready_in_s, horizon_s, has_ticket=ticket))


def pass_by(engine: Engine, seconds: float) -> None:
    """As if so much time had passed."""
    sql(
        engine,
        f"""UPDATE budgets
            SET next_at = next_at - interval '{seconds} seconds', queue_at = queue_at - interval '{seconds} seconds',
                blocked_until = blocked_until - interval '{seconds} seconds'""",
    )


def test_the_first_start_is_now_and_the_next_a_gap_later(engine: Engine) -> None:
    first = ask(engine, ADDRESS)
    assert first.granted
    assert first.wait_s == pytest.approx(0, abs=0.1)
    second = ask(engine, ADDRESS)
    assert not second.granted
    assert second.wait_s == pytest.approx(10, abs=0.5)
    assert second.why == Rest(RestReason.ADDRESS_BUDGET, ADDRESS.name)
    pass_by(engine, 9.8)
    third = ask(engine, ADDRESS, ticket=True)
    assert third.granted
    assert 0 < third.wait_s <= 0.3


def test_a_host_that_is_not_ready_yet_starts_when_it_is(engine: Engine) -> None:
    assert ask(engine, ADDRESS, ready_in_s=0.4).wait_s == pytest.approx(0.4, abs=0.1)
    assert ask(engine, ADDRESS).wait_s == pytest.approx(10.4, abs=0.5)


def test_a_crowd_is_told_to_come_one_gap_after_another(engine: Engine) -> None:
    ask(engine, ADDRESS)
    told = [ask(engine, ADDRESS).wait_s for _ in range(5)]
    assert told == pytest.approx([10, 20, 30, 40, 50], abs=0.5)


def test_who_comes_late_does_not_pass_those_who_wait(engine: Engine) -> None:
    ask(engine, ADDRESS)
    assert not ask(engine, ADDRESS).granted
    pass_by(engine, 10)
    passing = ask(engine, ADDRESS)
    assert not passing.granted, "the one who was told to come now has not come yet"
    assert ask(engine, ADDRESS, ticket=True).granted


def test_who_has_a_ticket_and_comes_too_early_keeps_its_place(engine: Engine) -> None:
    ask(engine, ADDRESS)
    ask(engine, ADDRESS)
    early = ask(engine, ADDRESS, ticket=True)
    assert not early.granted
    assert early.wait_s == pytest.approx(10, abs=0.5)


def test_all_budgets_or_none(engine: Engine) -> None:
    assert ask(engine, ADDRESS, DOMAIN).granted
    pass_by(engine, 20)
    denied = ask(engine, ADDRESS, DOMAIN)
    assert not denied.granted
    assert denied.why == Rest(RestReason.DOMAIN_BUDGET, DOMAIN.name)
    assert denied.wait_s == pytest.approx(80, abs=0.5)
    assert ask(engine, ADDRESS).granted, "what another budget held up has drawn nothing from this one"


def test_a_wait_for_a_narrow_budget_costs_the_ceiling_of_the_fleet_no_more_than_one_start(engine: Engine) -> None:
    ask(engine, ADDRESS)
    pass_by(engine, 9.6)
    assert ask(engine, ADDRESS, EVERYTHING, ticket=True, horizon_s=1.0).wait_s == pytest.approx(0.4, abs=0.2)
    assert ask(engine, EVERYTHING, horizon_s=1.2).wait_s == pytest.approx(1.0, abs=0.2)


def test_a_refused_connection_rests_the_address_longer_each_time(engine: Engine) -> None:
    ask(engine, ADDRESS)
    rests = []
    for _ in range(6):
        with db.transaction(engine) as tx:
            rests.append(budgets.refused(tx, ADDRESS, because="refused", base_s=10, max_s=100))
    assert rests == pytest.approx([10, 20, 40, 80, 100, 100], abs=0.5)
    denied = ask(engine, ADDRESS)
    assert (denied.granted, denied.blocked) == (False, True)
    assert denied.why == Rest(RestReason.ADDRESS_RESTS, f"{ADDRESS.name}, refused")


def test_after_the_rest_one_host_probes_and_the_others_wait_for_it(engine: Engine) -> None:
    ask(engine, ADDRESS)
    with db.transaction(engine) as tx:
        budgets.refused(tx, ADDRESS, because="refused", base_s=10, max_s=100)
    told = [ask(engine, ADDRESS).wait_s for _ in range(3)]
    assert told == pytest.approx([10, 25, 40], abs=0.5), "spread by the time a probe may take"
    pass_by(engine, 10)
    probe = ask(engine, ADDRESS, ticket=True)
    assert (probe.granted, probe.failures) == (True, 1)
    assert not ask(engine, ADDRESS, ticket=True).granted
    with db.transaction(engine) as tx:
        budgets.answered(tx, ADDRESS)
    after = ask(engine, ADDRESS, ticket=True)
    assert after.wait_s == pytest.approx(10, abs=0.5), "answered: the ordinary gap again"


def test_many_askers_at_once_get_starts_a_gap_apart(engine: Engine) -> None:
    short = ADDRESS._replace(gap_s=0.05)
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda _: ask(engine, short, EVERYTHING._replace(gap_s=0.001), horizon_s=60), range(100))
        )
    assert all(answer.granted for answer in answers)
    (row,) = sql(
        engine,
        """SELECT count(*) AS n, max(next_at - clock_timestamp()) > interval '3 seconds' AS spread
           FROM budgets WHERE kind = 'address'""",
    )
    assert row == {"n": 1, "spread": True}


def test_a_new_budget_is_made_before_the_others_are_locked(engine: Engine) -> None:
    """Two visits that want the ceiling and a new address: one has made the address, and asks for the ceiling next."""
    ask(engine, EVERYTHING)
    with db.transaction(engine) as tx:
        budgets.reserve(tx, [ADDRESS], StartTerms(1, ready_in_s=0, horizon_s=1))
        aside = Aside(lambda: ask(engine, ADDRESS, EVERYTHING, host_id=2))
        assert await_blocked(engine, backend(tx), aside)
        budgets.lock(tx, [ADDRESS, EVERYTHING])
    assert aside.outcome().shared


def test_budgets_that_nobody_draws_on_are_pruned(engine: Engine) -> None:
    ask(engine, ADDRESS, DOMAIN)
    pass_by(engine, 86_400 + 50)
    with db.transaction(engine) as tx:
        assert budgets.prune(tx, 10) == 1
    assert [row["kind"] for row in sql(engine, "SELECT kind FROM budgets")] == ["domain"]


def test_the_budget_of_an_address_is_its_networks_where_there_is_one(engine: Engine) -> None:
    ask(engine, ADDRESS, Budget(BudgetKind.NETWORK, "198.51.100.0/24", 1.0))
    with db.transaction(engine) as tx:
        own, shared, none = (budgets.of_address(tx, each) for each in ("192.0.2.1", "198.51.100.7", "203.0.113.9"))
    assert own is not None
    assert shared is not None
    assert (own["name"], shared["name"], none) == ("192.0.2.1", "198.51.100.0/24", None)


def test_a_host_that_begins_to_share_keeps_clear_of_one_that_had_it_alone(engine: Engine) -> None:
    """Whoever has a budget to itself may start LONE_S late, and so the newcomer comes so much later."""
    alone = [ask(engine, ADDRESS), ask(engine, ADDRESS, ticket=True, horizon_s=20)]
    assert [answer.shared for answer in alone] == [False, False]
    newcomer = ask(engine, ADDRESS, host_id=2)
    assert newcomer.shared
    assert newcomer.wait_s == pytest.approx(20 + budgets.LONE_S, abs=0.5)
    assert ask(engine, ADDRESS, ticket=True, horizon_s=30).shared, "the first one knows at once"
    pass_by(engine, 60)
    assert ask(engine, ADDRESS, host_id=2, ticket=True).wait_s == pytest.approx(0, abs=0.1), "from now on as shared"


def draw(engine: Engine, budget: Budget, *, near_s: float = 0.0, starts: int = 1, lost: int = 0) -> BudgetAnswer:
    with db.transaction(engine) as tx:
        return budgets.reserve(
            tx,
            [budget],
            StartTerms(1, ready_in_s=0.0, horizon_s=0.5, starts=starts, near_s=near_s, lost=lost),
        )


def promised_in_s(engine: Engine) -> float:
    return float(one(engine, "SELECT extract(epoch FROM queue_at - clock_timestamp())::float FROM budgets"))


def test_a_draw_is_told_of_a_start_that_is_near_and_not_of_the_promises_behind_it(engine: Engine) -> None:
    ask(engine, ADDRESS)
    for host_id in range(2, 5):
        ask(engine, ADDRESS, host_id=host_id)
    pass_by(engine, budgets.LONE_S)
    before_s = promised_in_s(engine)
    near = draw(engine, ADDRESS, near_s=60.0)
    assert (near.granted, near.is_near, near.wait_s) == (False, True, pytest.approx(ADDRESS.gap_s, abs=0.5))
    assert promised_in_s(engine) == pytest.approx(before_s, abs=0.3), "nobody is promised later for it"


def test_a_lot_holds_its_starts_a_gap_apart_and_the_next_one_comes_behind_it(engine: Engine) -> None:
    ask(engine, ADDRESS)
    ask(engine, ADDRESS, host_id=2)
    pass_by(engine, 60)
    assert draw(engine, ADDRESS, starts=3).granted
    behind = draw(engine, ADDRESS, near_s=600.0)
    assert behind.wait_s == pytest.approx(3 * ADDRESS.gap_s + ADDRESS.slack_s, abs=0.3)


def test_a_lot_on_several_budgets_holds_each_of_them_as_long_as_its_widest_gap_asks(engine: Engine) -> None:
    """Else another domain's host would start at the address between two starts of the lot."""
    both = (ADDRESS, DOMAIN)
    for host_id in (1, 2):
        ask(engine, *both, host_id=host_id)
    pass_by(engine, 600)
    with db.transaction(engine) as tx:
        lot = budgets.reserve(tx, both, StartTerms(1, ready_in_s=0.0, horizon_s=0.5, starts=3))
    assert lot.granted
    held = draw(engine, ADDRESS, near_s=3_600.0)
    assert held.wait_s == pytest.approx(2 * DOMAIN.gap_s + ADDRESS.gap_s + ADDRESS.slack_s, abs=0.3)


def test_promises_come_later_by_the_starts_that_were_lost(engine: Engine) -> None:
    ask(engine, ADDRESS)
    for host_id in (2, 3):
        ask(engine, ADDRESS, host_id=host_id)
    pass_by(engine, ADDRESS.gap_s + budgets.LONE_S + 1)
    before_s = promised_in_s(engine)
    assert draw(engine, ADDRESS, lost=1).granted
    assert promised_in_s(engine) == pytest.approx(before_s + ADDRESS.gap_s + ADDRESS.slack_s, abs=0.3)


def test_a_promise_is_not_waited_for_at_its_commit_and_a_start_is(engine: Engine) -> None:
    def committed(host_id: int) -> str:
        with db.transaction(engine) as tx:
            tx.exec_driver_sql("SELECT set_config('synchronous_commit', 'on', true)")
            budgets.reserve(tx, [ADDRESS], StartTerms(host_id, ready_in_s=0.0, horizon_s=0.5, alone=True))
            return str(tx.exec_driver_sql("SHOW synchronous_commit").scalar_one())

    assert [committed(host_id) for host_id in (1, 2)] == ["on", "off"]


def test_a_network_is_shared_from_the_first_start_on(engine: Engine) -> None:
    """An operator named it because many hosts share it: nobody waits for the first one as if it had it to itself."""
    front = Budget(BudgetKind.NETWORK, "192.0.2.0/24", 10.0)
    first = ask(engine, front)
    assert (first.granted, first.is_near, first.shared, first.held) == (False, True, True, False)
    lot = draw(engine, front)
    assert (lot.granted, lot.held) == (True, False)
    second = draw(engine, front, near_s=60.0)
    assert second.wait_s == pytest.approx(front.gap_s + front.slack_s, abs=0.3)
