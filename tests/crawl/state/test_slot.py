"""The start that an answer of the budgets grants."""

from dataclasses import replace

import pytest

from app.crawl.state.slot import Answered
from app.store.budgets import LONE_S
from tests.crawl.state.test_line import LATER


@pytest.mark.parametrize(("held", "hold_s", "last_s"), [(False, 9.0, 2.0), (True, 9.0, 9.0), (True, 0.0, 2.0)])
def test_it_is_over_before_another_host_may_have_its_own(held: bool, hold_s: float, last_s: float) -> None:
    answer = replace(LATER, granted=True, wait_s=2.0, shared=False, held=held)
    slot = Answered(address="192.0.2.1", answer=answer, earliest=10.0, latest=10.5, hold_s=hold_s).slot((), None)
    assert slot.ready_at == 10.5 + 2.0
    assert slot.not_after is not None
    assert slot.ready_at < slot.not_after < 10.0 + last_s + LONE_S
