"""docs/kubernetes/tiptoe.yaml: Kubernetes takes it, and it says what the code knows."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config import Settings
from app.config.constants import variable

ROOT = Path(__file__).parents[1]
DOCUMENTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "docs/kubernetes/tiptoe.yaml").read_text()))
NAMES = [f"{each['kind']} {each['metadata']['name']}" for each in DOCUMENTS]
PODS = {
    name: each["spec"]["template"]["spec"]
    for name, each in zip(NAMES, DOCUMENTS, strict=True)
    if "template" in each.get("spec", {})
}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
VERSIONS = ("1.31", "1.35")


@pytest.mark.skipif(importlib.util.find_spec("kubernetes_validate") is None, reason="the extra containers is missing")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_kubernetes_takes_it(document: dict[str, Any], version: str) -> None:
    import kubernetes_validate

    kubernetes_validate.validate(document, version, strict=True)
    wrong = {**document, "metadata": {**document["metadata"], "nam": "x"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_settings_exist() -> None:
    (settings,) = [each["data"] for each in DOCUMENTS if each["kind"] == "ConfigMap"]
    assert set(settings) <= {variable(name) for name in Settings.model_fields}
    assert {"TIPTOE_METRICS", "TIPTOE_CONTACT", "TIPTOE_WEB_LISTEN"} <= set(settings)


@pytest.mark.parametrize("role", ["beat", "worker"])
def test_processes_are_those_of_compose(role: str) -> None:
    (pod,) = [pod for name, pod in PODS.items() if name.endswith(f"tiptoe-{role}")]
    command = COMPOSE[role]["command"]
    assert pod["containers"][0]["command"][: len(command)] == command


@pytest.mark.parametrize("name", PODS)
def test_a_pod_has_the_schema_before_it_starts(name: str) -> None:
    """By a container of each pod: a Job of its own is immutable, and a release could not be applied over it."""
    (schema,) = PODS[name]["initContainers"]
    assert schema["command"] == COMPOSE["migrate"]["command"]
    (container,) = PODS[name]["containers"]
    for same in ("image", "envFrom", "securityContext", "volumeMounts"):
        assert schema[same] == container[same]


@pytest.mark.parametrize("name", PODS)
def test_nothing_runs_as_root_and_all_is_bounded(name: str) -> None:
    pod = PODS[name]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert "memory" in container["resources"]["limits"]
    claims = {"home"} if name.startswith("StatefulSet") else set()
    assert {mount["name"] for mount in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]} | claims


@pytest.mark.parametrize("name", PODS)
def test_every_process_is_probed_on_a_port_that_it_has(name: str) -> None:
    (container,) = PODS[name]["containers"]
    ports = {port["name"] for port in container["ports"]}
    probes = [container[key]["httpGet"] for key in container if key.endswith("Probe")]
    assert len(probes) >= 2
    assert {probe["port"] for probe in probes} <= ports
    assert {probe["path"] for probe in probes} <= {"/healthz", "/readyz"}


def test_selectors_find_their_pods() -> None:
    labels = {
        tuple(sorted(each["spec"]["template"]["metadata"]["labels"].items()))
        for each in DOCUMENTS
        if each["metadata"]["name"] in {name.split()[1] for name in PODS} and "template" in each.get("spec", {})
    }
    for each in DOCUMENTS:
        selector = each.get("spec", {}).get("selector")
        if selector:
            assert tuple(sorted(selector.get("matchLabels", selector).items())) in labels
