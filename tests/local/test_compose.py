"""docker-compose.yml, Dockerfile and .env.example say what the code knows, without an engine to ask.

tests/acceptance/test_compose.py runs them in containers. Compose and hadolint check them here where the extra
`containers` is installed.
"""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config import Settings
from app.config.constants import variable
from app.local.home import open_home
from app.local.postgres import Place, choose
from app.local.stack import MALLOC
from tests.containers.engine import find_program

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("tiptoe")}
SETTINGS = {variable(name) for name in Settings.model_fields}


def example_names() -> set[str]:
    return set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_the_image_asks_the_same_of_malloc_as_a_crawl_on_one_machine() -> None:
    """One setting keeps arenas few, another keeps large blocks out of them: some 100 MiB a worker."""
    set_there = dict(re.findall(r"\b(MALLOC_\w+)=(\w+)", (ROOT / "Dockerfile").read_text()))
    named = dict(re.findall(r"\b(MALLOC_\w+)=(\w+)", (ROOT / "docs" / "operating.md").read_text()))
    assert set_there == named == MALLOC
    assert MALLOC.keys() == {"MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}


def test_every_role_of_the_fleet_is_there() -> None:
    ours = {"migrate", "beat", "worker", "render", "flower", "web"}
    assert set(SERVICES) == {"postgres", "redis", "prometheus", "grafana"} | ours


@pytest.mark.parametrize("name", ["beat", "worker", "flower"])
def test_celery_services_name_the_app_and_their_role(name: str) -> None:
    assert OURS[name]["command"][:4] == ["celery", "-A", "app", name]


@pytest.mark.parametrize("name", OURS)
def test_settings_exist(name: str) -> None:
    given = {key for key in OURS[name]["environment"] if key.startswith("TIPTOE_")}
    assert {"TIPTOE_DATABASE_URL", "TIPTOE_BROKER_URL", "TIPTOE_CONTACT"} <= given <= SETTINGS


def test_example_has_every_variable_and_only_real_ones() -> None:
    asked = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text()))
    assert asked <= example_names()
    assert {name for name in example_names() if name.startswith("TIPTOE_")} <= SETTINGS
    assert set(re.findall(r"\b(TIPTOE_[A-Z_]+)=", (ROOT / "Dockerfile").read_text())) <= SETTINGS


@pytest.mark.parametrize("name", OURS)
def test_settings_in_the_file_that_is_filled_in_reach_every_role(name: str) -> None:
    assert OURS[name]["env_file"] == ".env"


def test_no_secret_has_a_default() -> None:
    for service in SERVICES.values():
        for key, value in service.get("environment", {}).items():
            if "PASSWORD" in value or "AUTH" in key:
                assert re.search(r"\$\{\w+_PASSWORD:\?", value)


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "migrate"])
def test_long_running_services_have_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}


@pytest.mark.parametrize("name", ["worker", "render"])
def test_a_workers_health_costs_no_second_worker(name: str) -> None:
    """It asks where metrics are served. `celery inspect` imports all of Tiptoe, and is too late on a busy machine."""
    port = OURS[name]["environment"]["TIPTOE_METRICS"].rpartition(":")[2]
    asks = OURS[name]["healthcheck"]["test"]
    assert asks[:2] == ["CMD", "python"]
    assert f"'http://127.0.0.1:{port}/healthz'" in asks[-1]


def test_nothing_starts_before_what_it_needs() -> None:
    assert OURS["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("beat", "worker", "flower"):
        assert OURS[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert OURS[name]["depends_on"]["redis"] == {"condition": "service_healthy"}


def test_ports_are_published_to_loopback_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert "127.0.0.1:5555:5555" in ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_worker_can_be_scaled() -> None:
    assert not {"container_name", "ports", "hostname"} & set(OURS["worker"])


def test_named_volumes_are_declared() -> None:
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert {name for name in used if not name.startswith("./")} == set(COMPOSE["volumes"])
    assert [name for name in used if name.startswith("./") and not (ROOT / name).exists()] == []


def test_prometheus_scrapes_where_metrics_are_served() -> None:
    """Web's own, and the list of the others."""
    config = yaml.safe_load((ROOT / "app/metrics/ship/prometheus.yml").read_text())["scrape_configs"]
    place = f"web:{OURS['web']['environment']['TIPTOE_METRICS'].rpartition(':')[2]}"
    assert config[0]["static_configs"][0]["targets"] == [place]
    assert config[1]["http_sd_configs"][0]["url"] == f"http://{place}/metrics/targets"
    assert "./app/metrics/ship:/etc/prometheus:ro" in SERVICES["prometheus"]["volumes"]


def test_grafana_finds_its_dashboard_and_its_source() -> None:
    ship = ROOT / "app/metrics/ship/grafana"
    (source,) = yaml.safe_load((ship / "datasource.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert f'"uid": "{source["uid"]}"' in (ship / "tiptoe.json").read_text()
    (provider,) = yaml.safe_load((ship / "dashboards.yml").read_text())["providers"]
    mounted = {volume.split(":")[1] for volume in SERVICES["grafana"]["volumes"]}
    assert f"{provider['options']['path']}/tiptoe.json" in mounted
    assert SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] in mounted


def test_image_copies_what_it_needs() -> None:
    let_in = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = {pattern.rstrip("*") for pattern in installed["packages"]["find"]["include"]}
    modules = {f"{name}.py" for name in installed["py-modules"]}
    assert {"pyproject.toml", "README.md", "LICENSE", "alembic.ini", *packages, *modules} <= let_in
    assert all((ROOT / name).exists() for name in let_in)


def test_each_image_is_a_target_of_its_own() -> None:
    """Chromium is in that of `render` alone; Docker's profiles forbid its sandbox, and the mounts of its guard."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    targets = {name: service["build"]["target"] for name, service in OURS.items()}
    assert {(targets[name], OURS[name]["image"]) for name in OURS} == {("fleet", "tiptoe"), ("render", "tiptoe-render")}
    assert all(re.search(rf"^FROM \S+ AS {target}$", dockerfile, re.MULTILINE) for target in targets.values())
    assert dockerfile.rstrip().endswith("FROM fleet"), "what is built where no target is named"
    options = {name: service["security_opt"] for name, service in OURS.items() if "security_opt" in service}
    assert options == {"render": ["seccomp=unconfined", "apparmor=unconfined"]}


def test_logs_are_bounded() -> None:
    for name, service in SERVICES.items():
        assert service["logging"]["options"].keys() >= {"max-size", "max-file"}, name


def test_hadolint_finds_nothing() -> None:
    program = find_program("hadolint") or pytest.skip("no hadolint: pip install -e '.[containers]'")
    checked = subprocess.run([program, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_compose_knows_every_key(tmp_path: Path) -> None:
    program = find_program("docker-compose") or pytest.skip("no Compose: pip install -e '.[containers]'")
    shutil.copy(ROOT / "docker-compose.yml", tmp_path)
    filled_in = re.sub(r"=$", "=filled", (ROOT / ".env.example").read_text(), flags=re.MULTILINE)
    (tmp_path / ".env").write_text(filled_in)
    checked = subprocess.run(
        [program, "config", "--quiet"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_shell_commands_parse() -> None:
    for service in SERVICES.values():
        for words in (service.get("command", []), service.get("healthcheck", {}).get("test", [])):
            for word in words[-1:]:
                shlex.split(word)


def run_as(place: Place, *argv: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv, user=place.user, group=place.group, cwd="/", capture_output=True, text=True, timeout=60, check=False
    )


def test_postgres_can_be_made_of_its_arguments_and_takes_its_options(reachable_tmp: Path) -> None:
    """By the embedded one's programs, in an environment that names no locale but in these arguments."""
    place = choose(open_home(reachable_tmp / "compose"), None, print)
    data = place.data.with_name("compose-data")
    data.mkdir(mode=0o700)
    place.give(data)
    given = shlex.split(SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"])
    made = run_as(place, place.programs.folder / "initdb", f"--pgdata={data}", "--no-sync", *given)
    assert made.returncode == 0, made.stderr
    for option in SERVICES["postgres"]["command"]:
        name, is_set, value = option.partition("=")
        if is_set and value != "lz4":  # which the embedded one was built without
            told = run_as(place, place.programs.folder / "postgres", "-D", data, "-c", option, "-C", name)
            assert (told.returncode, told.stdout.strip()) == (0, value), told.stderr
