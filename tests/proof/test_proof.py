"""A short form of each program of `make crash` and `make fuzz`."""

import re
import subprocess
import sys

import pytest

from tests.proof.report import PAGE
from tests.proof.shim import ROOT, available

SHORT = {
    "kills": ("--cycles", "8", "--acknowledgements", "240"),
    "writers": ("--processes", "4", "--writes", "60"),
    "power": ("--points", "24"),
    "faults": ("--every", "150"),
    "damage": ("--rounds", "4"),
    "soak": ("--minutes", "0.05"),
    "isolation": ("--probes", "800"),
    "server_isolation": ("--requests", "160"),
    "fuzz": ("--examples", "350"),
}


@pytest.mark.parametrize("program", SHORT)
def test_nothing_is_lost_damaged_or_leaked_in_a_short_run_of(program: str) -> None:
    if program in ("power", "faults") and not available():
        pytest.skip("needs Linux and a C compiler")
    command = [sys.executable, "-m", f"tests.proof.{program}", *SHORT[program]]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stdout[-2_000:] + ended.stderr[-4_000:]
    assert re.search(rf"^{program}: [0-9]", ended.stdout, re.MULTILINE)


def test_every_program_has_a_line_for_its_last_result_in_the_page() -> None:
    lines = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(lines) == sorted(SHORT)
