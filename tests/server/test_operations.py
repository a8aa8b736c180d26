"""Dockerfile, compose file and systemd unit: checked without Docker and without a running systemd."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apps.command_line import CommandLine

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = {
    *("ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "SHELL"),
    *("STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
}
# The keys of the Compose Specification that this file may use, by place.
TOP = {"name", "services", "volumes", "configs", "networks", "secrets"}
SERVICE = {
    *("build", "cap_drop", "command", "configs", "depends_on", "entrypoint", "environment", "healthcheck", "image"),
    *("init", "ports", "profiles", "read_only", "restart", "security_opt", "shm_size", "stop_grace_period", "tmpfs"),
    *("user", "volumes", "working_dir"),
}
HEALTH = {"test", "interval", "timeout", "retries", "start_period"}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}


def dockerfile() -> list[tuple[str, str]]:
    """The instructions, with continued lines joined."""
    lines = [
        line for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines() if not line.lstrip().startswith("#")
    ]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [
        (name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())
    ]


def test_the_dockerfile_has_known_instructions_pinned_images_and_a_user_that_is_not_root() -> None:
    found = dockerfile()
    assert {name for name, _ in found} <= INSTRUCTIONS
    images = [rest.split()[0] for name, rest in found if name == "FROM"]
    assert all(re.fullmatch(r"[a-z]+:\d[\w.-]+", image) for image in images), "every image names its version"
    last_stage = found[max(place for place, (name, _) in enumerate(found) if name == "FROM") :]
    names = [name for name, _ in last_stage]
    user = next(rest for name, rest in last_stage if name == "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), "a number: orchestrators can see that it is not root"
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert {"HEALTHCHECK", "EXPOSE", "VOLUME", "STOPSIGNAL"} <= set(names)
    for name, rest in found:
        if name in {"CMD", "ENTRYPOINT", "VOLUME"}:
            assert isinstance(yaml.safe_load(rest), list), "the exec form: signals reach the process"
        if name == "RUN":
            assert "pip install" not in rest or "--no-cache-dir" in rest
            assert not re.search(r"\b(sudo|curl|wget|apt-get upgrade|cd)\b", rest)
        if name == "COPY" and "--from" not in rest:
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert f"!{source}" in (ROOT / ".dockerignore").read_text("utf-8")


def test_the_command_of_the_image_is_one_that_the_command_line_knows(jiyi: CommandLine) -> None:
    words = next(yaml.safe_load(rest) for name, rest in dockerfile() if name == "CMD")
    refused = jiyi(*words, "--check")
    # The only thing that is missing is a key, which the operator makes.
    assert "jiyi keys add" in refused.err
    jiyi("keys", "add", "laptop")
    assert jiyi(*words, "--check").code == 0


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return found


def test_the_compose_file_uses_documented_keys_and_names_what_it_refers_to() -> None:
    whole = compose()
    assert set(whole) <= TOP
    for name, service in whole["services"].items():
        assert set(service) <= SERVICE, name
        assert ("image" in service) or ("build" in service)
        assert set(service.get("healthcheck", {})) <= HEALTH
        assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
        for other, how in service.get("depends_on", {}).items():
            assert other in whole["services"]
            assert how["condition"] in CONDITIONS
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source.startswith(("./", "$")) or source in whole["volumes"], volume
        for port in service.get("ports", []):
            assert str(port).startswith("127.0.0.1:"), "open to this machine only"
        for each in service.get("configs", []):
            assert each["source"] in whole["configs"]
    variables = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "compose.yaml").read_text("utf-8")))
    assert variables == {"POSTGRES_PASSWORD", "JIYI_PUBLIC_HOST"}


def test_the_server_in_the_compose_file_is_restricted_and_waits_for_its_database(jiyi: CommandLine) -> None:
    server = compose()["services"]["jiyi"]
    assert server["build"] == "."
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert server["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    words = [word.replace("${JIYI_PUBLIC_HOST:-localhost}", "localhost") for word in server["command"]]
    jiyi("keys", "add", "laptop")
    refused = jiyi(*words, "--check")
    assert "PostgreSQL" in refused.err, "several workers need the database that the file names"
    assert jiyi(*[word for word in words if word not in {"--workers", "2"}], "--check").code == 0


def unit() -> dict[str, list[str]]:
    text = (ROOT / "deploy" / "jiyi.service").read_text("utf-8")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_the_unit_starts_a_command_that_exists_and_gives_it_time_to_finish(jiyi: CommandLine) -> None:
    found = unit()
    words = shlex.split(found["ExecStart"][0])
    assert words[:2] == ["/usr/bin/env", "jiyi"]
    jiyi("keys", "add", "laptop")
    assert jiyi(*words[2:], "--check").code == 0
    assert int(found["TimeoutStopSec"][0]) > 20
    assert (found["NoNewPrivileges"], found["ProtectSystem"], found["User"]) == (["yes"], ["strict"], ["jiyi"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_systemd_finds_nothing_wrong_with_the_unit() -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", str(ROOT / "deploy" / "jiyi.service")],
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line for line in done.stderr.splitlines() if "jiyi.service" in line]
    assert told == []
