"""A process is killed in the middle of its work: nothing that was acknowledged is lost, and nothing is half there."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.harness import Ledger, Worker, killed_at_random
from tests.crash.worker import POINTS

Report = Callable[[str], None]


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """Writes a line past pytest's capturing."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def write(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{request.node.name}: {line}", flush=True)

    return write


def _cycle(ledger: Ledger, chance: random.Random, cycle: int) -> None:
    """One life of one worker: every second one forces drains, every third one rebuilds, some find no index at all."""
    if cycle % 7 == 3:
        shutil.rmtree(ledger.path / "search_index", ignore_errors=True)
    drain_every = chance.randrange(2, 6) if cycle % 2 else 0
    rebuild_every = chance.randrange(5, 15) if cycle % 3 == 0 else 0
    with Worker(
        ledger.path,
        chance.randrange(1 << 40),
        embedder=ledger.embedder,
        drain_every=drain_every,
        rebuild_every=rebuild_every,
    ) as worker:
        killed_at_random(worker, chance)
    ledger.settle(worker)


def test_three_kills_lose_nothing(tmp_path: Path) -> None:
    chance, ledger = random.Random(1), Ledger(tmp_path / "data")
    for cycle in range(3):
        _cycle(ledger, chance, cycle)
    ledger.check_indexes(chance)
    assert ledger.acknowledged >= 3


@pytest.mark.crash
def test_fifty_kills_at_random_moments_lose_nothing(tmp_path: Path, report: Report) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance, ledger = random.Random(seed), Ledger(tmp_path / "data")
    report(f"seed {seed}")
    for cycle in range(50):
        _cycle(ledger, chance, cycle)
        if cycle % 4 == 0:
            ledger.check_indexes(chance)
    ledger.check_indexes(chance)
    assert ledger.acknowledged > 300
    report(str(ledger))


@pytest.mark.crash
def test_a_kill_in_the_middle_of_any_step_loses_nothing(tmp_path: Path, report: Report) -> None:
    chance, ledger = random.Random(7), Ledger(tmp_path / "data")
    for point in POINTS:
        with Worker(
            ledger.path,
            chance.randrange(1 << 40),
            drain_every=2,
            rebuild_every=6,
            die_at=point,
            die_on_call=chance.randrange(1, 4),
        ) as worker:
            worker.wait_for_death()
        ledger.settle(worker)
        ledger.check_indexes(chance)
    report(str(ledger))


@pytest.mark.crash
def test_who_is_left_alone_by_a_kill_goes_on(tmp_path: Path, report: Report) -> None:
    chance, ledger = random.Random(11), Ledger(tmp_path / "data")
    for _ in range(6):
        with (
            Worker(ledger.path, chance.randrange(1 << 40), actor="a", drain_every=3, rebuild_every=8) as one,
            Worker(ledger.path, chance.randrange(1 << 40), actor="b", drain_every=4, rebuild_every=9) as other,
        ):
            other.wait_for(1)
            killed_at_random(one, chance)
            assert other.wait_for(len(other.acknowledged) + 20)
            killed_at_random(other, chance)
        ledger.settle(one, other)
    ledger.check_indexes(chance)
    report(str(ledger))


@pytest.mark.crash
def test_kills_with_the_real_embedder_lose_nothing(tmp_path: Path, report: Report) -> None:
    chance, ledger = random.Random(13), Ledger(tmp_path / "data", embedder="bundled")
    for cycle in range(4):
        _cycle(ledger, chance, cycle)
    ledger.check_indexes(chance)
    report(str(ledger))
