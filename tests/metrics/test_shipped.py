"""The files for Prometheus and Grafana that we ship, without a run: promtool's word, and that they fit the code."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.metrics import dashboard, exposition
from app.metrics.dashboard import ROWS
from app.metrics.exposition import ALL, MetricKind
from app.model import Outcome
from tests.acceptance.pages import blocks
from tests.metrics.prometheus import SHIP, needs_prometheus
from tests.metrics.test_counts import batch, fetch

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
RULES: list[dict[str, Any]] = yaml.safe_load((SHIP / "alerts.yml").read_text())["groups"][0]["rules"]
ASKED = [*(query for _, row in ROWS for panel in row for _, query in panel.queries), *(rule["expr"] for rule in RULES)]
OF_LIBRARIES = {"process_resident_memory_bytes", "process_cpu_seconds_total", "up"}


def promtool(*arguments: str, folder: Path = SHIP, given: bytes = b"") -> str:
    ran = subprocess.run(["promtool", *arguments], cwd=folder, input=given, capture_output=True, timeout=60)
    said = (ran.stdout + ran.stderr).decode()
    assert ran.returncode == 0, said
    return said


def known_names() -> set[str]:
    suffixes = ("_bucket", "_sum", "_count")
    histograms = [spec.name for spec in ALL.values() if spec.kind is MetricKind.HISTOGRAM]
    return {*ALL, *OF_LIBRARIES, *(name + suffix for name in histograms for suffix in suffixes)}


@needs_prometheus
def test_promtool_takes_the_configuration_and_the_rules() -> None:
    assert "15 rules found" in promtool("check", "config", "prometheus.yml")


@needs_prometheus
def test_each_alert_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    for file in (SHIP / "alerts.yml", HERE / "alerts.test.yml"):
        shutil.copy(file, tmp_path)
    promtool("test", "rules", "alerts.test.yml", folder=tmp_path)
    tested = (HERE / "alerts.test.yml").read_text()
    assert [rule["alert"] for rule in RULES if f"alertname: {rule['alert']}" not in tested] == []


@needs_prometheus
def test_promtool_takes_a_page() -> None:
    from app.metrics import exposition, serve
    from app.metrics.counts import Counts

    counts = Counts()
    counts.settled([batch(fetch(0, 1, failure="cut"), ending="delay")], took_s=0.1)
    made = exposition.registry(lambda: serve.values(counts, None, lambda: (0, 0)))
    assert promtool("check", "metrics", given=exposition.page(made)) == ""


def test_the_dashboard_is_as_it_is_made() -> None:
    shown = json.loads((SHIP / "grafana" / "tiptoe.json").read_text())
    assert shown == dashboard.dashboard(), (
        "run `python -m app.metrics.dashboard > app/metrics/ship/grafana/tiptoe.json`"
    )


def test_rows_of_panels_are_as_wide_as_the_page() -> None:
    panels = [panel for panel in dashboard.dashboard()["panels"] if panel["type"] != "row"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= dashboard.WIDTH for panel in panels)


def test_what_is_asked_for_is_what_there_is() -> None:
    known = known_names()
    asked = {query: set(re.findall(r"\b(?:tiptoe|process)_\w+|\bup\b", query)) for query in ASKED}
    assert len(asked) > 30
    assert {query: names - known for query, names in asked.items() if names - known} == {}


def test_every_metric_is_shown_or_alerted_on() -> None:
    unused = {name for name in ALL if not any(name in query for query in ASKED)}
    assert unused == {
        "tiptoe_fenced_fetches_total",  # a sign of a stopped worker, looked at in triage
        "tiptoe_recent_requests_judged",  # how much tiptoe_recent_violations means
        "tiptoe_processes_serving",
        "tiptoe_mixed_names_total",  # names that also lead inside: a list to look at, not a fault of ours
    }


def test_the_alert_and_the_code_call_the_same_outcomes_errors() -> None:
    (rule,) = [rule for rule in RULES if rule["alert"] == "TiptoeErrorRateHigh"]
    (named,) = re.findall(r'outcome=~"(.*?)"', rule["expr"])
    assert named.split("|") == [outcome.value for outcome in Outcome if outcome.is_error]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_leads_to_what_to_do(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert page == "docs/alerts.md"
    assert anchor == rule["alert"].lower()
    (section,) = re.findall(rf"^## {rule['alert']}\n(.*?)(?=^## |\Z)", (DOCS / "alerts.md").read_text(), re.M | re.S)
    assert re.findall(r"^\*\*(.*?)\.\*\*", section, re.M) == ["What it means", "Look at", "Do"]


def test_the_docs_have_no_alert_that_there_is_not() -> None:
    headings = set(re.findall(r"^## (Tiptoe\w+)$", (DOCS / "alerts.md").read_text(), re.M))
    assert headings == {rule["alert"] for rule in RULES}


def test_tables_of_the_docs_name_each_metric_once() -> None:
    page = (DOCS / "metrics.md").read_text()
    assert [name for name in exposition.ALL if page.count(f"| `{name}` |") != 1] == []


def test_what_the_docs_have_prometheus_scrape_is_what_we_ship() -> None:
    """Elsewhere, and as often as Prometheus likes."""
    (block,) = [block for block in blocks("docs/metrics.md") if block.language == "yaml"]
    shipped = yaml.safe_load((SHIP / "prometheus.yml").read_text().replace("web:9190", "127.0.0.1:8800"))
    for job in shipped["scrape_configs"]:
        for list_of in job.get("http_sd_configs", []):
            del list_of["refresh_interval"]
    assert yaml.safe_load(block.text) == {"scrape_configs": shipped["scrape_configs"]}


def test_no_metric_has_a_label_that_prometheus_sets_itself() -> None:
    """It would be renamed to exported_…, and no query would find it."""
    config = yaml.safe_load((SHIP / "prometheus.yml").read_text())["scrape_configs"]
    of_targets = {label for job in config for group in job.get("static_configs", []) for label in group["labels"]}
    taken = {"job", "instance", "role", *of_targets}
    assert [spec.name for spec in ALL.values() if taken & set(spec.labels)] == []
