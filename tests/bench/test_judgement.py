"""The program that measures judgement says what a model cost."""

import argparse
import re
import sys
from pathlib import Path

import pytest

from bench import judgement
from bench.judgement import cost, prices


def test_a_run_prints_calls_tokens_and_money(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--only", "scripted", "--writers", "a", "--languages", "en", "--sample", "2", "--price", "1000,2000"]
    places = ["--results", str(tmp_path / "results"), "--work", str(tmp_path / "work")]
    monkeypatch.setattr(sys, "argv", ["bench/judgement.py", *options, *places])
    judgement.main()
    table = (tmp_path / "results" / "judgement.md").read_text("utf-8")
    assert "rules, en" not in table
    said = re.search(r"en, cost: (\d+) model calls .* ([\d,]+) tokens in and ([\d,]+) out, .*; ([\d.]+) at 1000", table)
    assert said is not None, table
    calls, sent, received, money = (float(each.replace(",", "")) for each in said.groups())
    assert calls >= 2
    assert money == pytest.approx((sent * 1_000 + received * 2_000) / 1e6, abs=1e-4)


def test_without_prices_no_money_is_named() -> None:
    usage = {"calls": 3, "failures": 1, "retries": 1, "input_tokens": 900, "output_tokens": 30, "cost": 0.0}
    told = cost(usage, 3, (0.0, 0.0))
    assert told == "3 model calls (1 failed, 1 were retries), 900 tokens in and 30 out, 300 and 10 an item"


@pytest.mark.parametrize("text", ["1", "1,2,3", "-1,2", "nan,1", "inf,1"])
def test_prices_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="two prices"):
        prices(text)
