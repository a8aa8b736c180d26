"""python -m tests.proof crash|fuzz --scale 0.1: the programs of one tier, each with its counts times `scale`.

Their last results are kept in docs/RELIABILITY.md when the scale is 1.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import time

from tests.proof.shim import ROOT, available

CRASH = {
    "kills": {"--cycles": 1_000, "--acknowledgements": 50_000},
    "writers": {"--processes": 16, "--writes": 2_000},
    "power": {"--points": 1_000},
    "damage": {"--rounds": 1_000},
}
FUZZ = {
    "fuzz": {"--examples": 30_000},
    "isolation": {"--probes": 100_000},
    "server_isolation": {"--requests": 10_000},
}
_FIXED = {"--processes"}
_NEED_SHIM = {"power", "faults"}


def _command(name: str, values: dict[str, int], scale: float) -> list[str]:
    words = [sys.executable, "-m", f"tests.proof.{name}"]
    for option, value in values.items():
        words += [option, str(value if option in _FIXED else max(1, round(value * scale)))]
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tier", choices=("crash", "fuzz"))
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    environment = {**os.environ, "RELIABILITY_PAGE": "keep" if options.scale >= 1 else ""}
    begun = time.monotonic()
    commands = {
        name: _command(name, values, options.scale)
        for name, values in vars(sys.modules[__name__])[options.tier.upper()].items()
    }
    beside: list[subprocess.Popen[bytes]] = []
    if options.tier == "crash":
        commands["faults"] = [
            sys.executable,
            "-m",
            "tests.proof.faults",
            "--every",
            str(max(1, round(1 / options.scale))),
        ]
        soak = [sys.executable, "-m", "tests.proof.soak", "--minutes", str(20 * options.scale)]
        # One core for the soak, the other for the rest.
        beside.append(subprocess.Popen(soak, cwd=ROOT, env=environment))
    elif importlib.util.find_spec("atheris") is not None:
        runs = str(round(20_000 * options.scale))
        commands["atheris"] = [sys.executable, "-m", "tests.proof.fuzz", "--engine", "atheris", "--examples", runs]
    failed = []
    for name, command in commands.items():
        if name in _NEED_SHIM and not available():
            print(f"{name}: left out, it needs Linux and a C compiler", flush=True)
            continue
        print(f"== {name}", flush=True)
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
            failed.append(name)
    failed += ["soak" for process in beside if process.wait()]
    print(f"{options.tier}: {round((time.monotonic() - begun) / 60, 1)} minutes", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
