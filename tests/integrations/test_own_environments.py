"""Frameworks that cannot share the environment of the tests are tested in their own: `own_environment`."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.documents import ROOT
from tests.integrations import own_environment

CHECKS = ROOT / "tests" / "integrations" / "own"


@pytest.mark.parametrize("framework", sorted(own_environment.FRAMEWORKS))
def test_the_checks_of_a_framework_pass_in_its_environment(framework: str) -> None:
    checks = CHECKS / f"{framework}_checks.py"
    done = subprocess.run(
        [own_environment.python(framework), "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", checks],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= checks.read_text("utf-8").count("\ndef test_")
    assert "skipped" not in done.stdout


def test_every_environment_has_checks_and_every_check_an_environment() -> None:
    assert {path.stem.removesuffix("_checks") for path in CHECKS.glob("*.py")} == set(own_environment.FRAMEWORKS)
