"""Run every benchmark in turn and write what they print to benchmarks/results.md."""

import argparse
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ["skbayes_sg", "numpy", "scipy", "numba", "scikit-learn", "joblib"]
PEERS = ["blackjax", "sgmcmcjax", "numpyro", "posteriors", "stein-thinning", "smurff"]
PEERS += ["myfm", "pystan"]


def versions(names):
    """Return names and versions of the packages that are installed."""
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def heading(quick):
    """Return the opening of the report: what was run, with what, on what size."""
    kind = "`make bench-quick`" if quick else "`make bench`"
    return [
        "# Benchmarks",
        "",
        f"Written by {kind}. Times are the best of several in one run; compare ratios.",
        "",
        f"- Python {platform.python_version()}, {versions(PACKAGES)}",
        f"- peers: {versions(PEERS) or 'none installed'}",
        f"- {os.cpu_count()} cores",
        "",
    ]


def main(quick):
    """Run the scripts one after the other; a failing one does not stop the rest."""
    lines, failed = heading(quick), []
    for script in sorted(HERE.glob("bench_*.py")):
        print(f"== {script.name}", flush=True)
        began = time.perf_counter()
        command = [sys.executable, str(script)] + (["--quick"] if quick else [])
        result = subprocess.run(
            command, cwd=HERE.parent, capture_output=True, text=True
        )
        print(result.stdout, result.stderr, sep="\n", flush=True)
        if result.returncode != 0:
            failed.append(script.name)
        lines += [f"## {script.stem.removeprefix('bench_').replace('_', ' ')}", ""]
        lines += ["```text", result.stdout.rstrip(), "```", ""]
        lines += [f"{time.perf_counter() - began:.0f} s, exit {result.returncode}", ""]
    (HERE / "results.md").write_text("\n".join(lines), encoding="utf-8")
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="minutes, not an hour")
    sys.exit(main(parser.parse_args().quick))
