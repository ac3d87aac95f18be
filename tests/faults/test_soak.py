"""FT38 of docs/reliability.md: a random fault every few seconds while a crawl goes round (`make soak`); and that its
figures tell what they are there for."""

import random
from dataclasses import replace

import pytest

from tests.faults.kit import MakeRig
from tests.faults.log_judge import Fault
from tests.faults.pace import quick_or_long
from tests.faults.soak import LONG_S, Soak
from tests.faults.soak_faults import BEATS, WORKERS
from tests.faults.soak_figures import MIB, Claims, Sample, Size, Slope, busier, claims, recovered, slopes
from tests.faults.soak_told import Told
from tests.faults.web import Line

LINE = Line(id=1, start=1.0, wall=1.0, host="a", path="/", connection=1, worker="w1", end=1.1, status=200)


@pytest.mark.faults
def test_ft38_soak(make_rig: MakeRig, rng: random.Random) -> None:
    """one random fault after another, for 15 s or 10 min, while the crawl goes round: all invariants over all
    rounds."""
    seconds = quick_or_long(15.0, 600.0)
    rig = make_rig(
        hosts=quick_or_long(10, 40), pages=quick_or_long(16, 100), workers=WORKERS, beats=BEATS
    )  # fmt: skip
    soak = Soak(rig=rig, rng=rng, seconds=seconds)
    soak.run()
    found, told = soak.judged(), soak.told()
    rig.figures |= {**found.figures, "faults": len(rig.faults), "rounds": len(soak.rounds)}
    assert found.broken == []
    assert len(rig.faults) >= 2
    assert {"hosts", "urls", "fetches", "visits"} <= told.end[1].keys()
    assert seconds < LONG_S or told.broken() == []


def test_memory_is_told_by_pages_once_a_worker_is_warm() -> None:
    lines = [replace(LINE, id=number, start=float(number)) for number in range(1000)]
    cold = [Sample(worker="w1", at=float(at), rss_kib=10_000 * at) for at in range(5)]
    warm = [Sample(worker="w1", at=float(50 * at), rss_kib=102_400 + 1024 * at) for at in range(1, 16)]
    (slope,) = slopes([*cold, *warm], lines)
    assert slope.per_1000 == pytest.approx(20.0), "a MiB each 50 requests"
    assert slope.per_hour == pytest.approx(72.0)
    assert slopes([*cold, *warm], []) == [], "who served nothing tells nothing"


def test_claims_during_a_fault_do_not_count() -> None:
    events: list[dict[str, object]] = [
        {"timestamp": f"1970-01-01T00:00:{second:02}Z", "claimed_s": 0.01 if second < 30 else 5.0}
        for second in range(60)
    ]
    assert claims(events, (0.0, 30.0), []) == Claims(n=30, p50_ms=10.0, p99_ms=10.0)
    whole = claims(events, (0.0, 60.0), [(29.5, 60.0)])
    assert whole is not None
    assert (whole.n, whole.p99_ms) == (30, 10.0)
    assert claims(events, (0.0, 5.0), []) is None


def test_a_busy_machine_is_told_by_its_answers() -> None:
    answers = [(float(at), 0.001 if at < 10 else 0.004) for at in range(20)]
    assert busier(answers, (0.0, 10.0), (10.0, 20.0)) == pytest.approx(4.0)


def test_recovery_ends_with_the_round_and_with_the_next_fault() -> None:
    kill = Fault(name="kill", begin=0.5, end=0.5, waiting=frozenset({"a"}))
    flush = Fault(name="flush", begin=0.7, end=0.7, waiting=frozenset({"a"}))
    assert recovered([([LINE], [kill])]) == {"kill": 0.5}
    assert recovered([([LINE], [kill, flush])]) == {"flush": pytest.approx(0.3), "kill": 0.0}
    assert recovered([([], [kill]), ([LINE], [])]) == {"kill": 0.0}


SOUND = Told(
    slopes=[Slope(worker="w1", minutes=9.0, requests=9000, from_mib=120, to_mib=122, per_1000=0.3, per_hour=13.0)],
    early=Claims(n=1000, p50_ms=10.0, p99_ms=50.0),
    late=Claims(n=1000, p50_ms=10.0, p99_ms=60.0),
    busier=0.8,
    recovered={},
    quarter=(10_000, {"hosts": Size(table=MIB, indexes=0, rows=40, dead=0)}),
    end=(40_000, {"hosts": Size(table=MIB, indexes=0, rows=40, dead=0)}),
    calm_rate=70.0,
    rate=60.0,
)
GROWN = Size(table=3 * MIB + 1, indexes=0, rows=40, dead=9)
# what is not as it has to be, the word of the bar that is broken
BARS = [
    ({"slopes": [replace(SOUND.slopes[0], per_1000=1.1)]}, "memory"),
    ({"late": replace(SOUND.late, p99_ms=111.0)}, "claims"),  # type: ignore[type-var]
    ({"end": (10_000, {"hosts": Size(table=2 * MIB, indexes=0, rows=40, dead=0)})}, "tables"),
    ({"end": (40_000, {"hosts": GROWN})}, "bloat"),
]


def test_a_sound_run_breaks_no_bar() -> None:
    assert SOUND.broken() == []


@pytest.mark.parametrize(("change", "word"), BARS, ids=[row[1] for row in BARS])
def test_each_bar_can_break(change: dict[str, object], word: str) -> None:
    (told,) = replace(SOUND, **change).broken()  # type: ignore[arg-type]
    assert word in told


def test_a_busier_machine_is_no_bloat() -> None:
    assert replace(SOUND, late=replace(SOUND.late, p99_ms=111.0), busier=2.0).broken() == []  # type: ignore[type-var]
