"""Run the benchmarks one after the other and write what they print to results.md.

With ``--quick`` they take minutes and are written to results-quick.md instead.

    python benchmarks/run.py [--quick] [NAME ...]

Without names, all of `SUITE`; with names, these anew and the rest as it was. The other
scripts in this folder take hours, or answer questions of one page of the guide, which
quotes them; they run by themselves.
"""

import argparse
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITE = ["iteration", "nuts", "regressions", "laplace", "growth", "sparse"]
SUITE += ["first_use", "ksd", "mlp", "recommender"]
DATA = HERE.parents[1] / "shared" / "data"  # a local copy of the data sets, if any
FIGURES = {"growth": HERE.parent / "doc" / "growth.png"}
CODE_CHOICES = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "NUMBA_CPU_NAME"}
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
        f"Written by {kind}. Parts that were run alone later (`run.py NAME`) say with "
        "which versions. Times are the best of several in one run; compare ratios.",
        "",
        f"- Python {platform.python_version()}, {versions(PACKAGES)}",
        f"- peers: {versions(PEERS) or 'none installed'}",
        f"- {os.cpu_count()} cores",
        "",
    ]


def section(name, quick, note):
    """Run a script; return its part of the report, and whether it has failed.

    The part ends with the seconds it took, and the `note`. A script that cannot get its
    data is skipped, which is not a failure.
    """
    command = [sys.executable, str(HERE / f"bench_{name}.py")]
    if name in FIGURES and not quick:
        command += ["--figure", str(FIGURES[name])]
    # Each library is to choose code for this processor by itself.
    environment = {k: v for k, v in os.environ.items() if k not in CODE_CHOICES}
    environment["PYTHONWARNINGS"] = "ignore"  # those of other packages
    if DATA.is_dir():
        environment.setdefault("SKBAYES_SG_DATA", str(DATA))
    began = time.perf_counter()
    result = subprocess.run(
        command + ["--quick"] * quick,
        cwd=HERE.parent,
        env=environment,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - began
    reason = missing_data(result)
    end = f"skipped: {reason}" if reason else f"{seconds:.0f} s"
    failed = result.returncode != 0 and not reason
    if failed:
        end = f"failed after {seconds:.0f} s"
        print(result.stderr, flush=True)
    lines = [f"## {name.replace('_', ' ')}", *result.stdout.rstrip().split("\n")]
    lines += ["", end + note, ""]
    print("\n".join(lines), flush=True)
    return lines, failed


def missing_data(result):
    """Return why a script has no data, None if it has or failed for another reason."""
    last = result.stderr.strip().split("\n")[-1]
    found = re.match(r"(?:OSError|ConnectionError|FileNotFoundError): (.*)", last)
    return found[1] if result.returncode != 0 and found else None


def written(report):
    """Return the heading of an earlier report, and its parts by their names."""
    opening, *parts = report.read_text(encoding="utf-8").split("\n## ")
    return opening.split("\n"), {
        part.split("\n")[0].replace(" ", "_"): f"## {part}".split("\n")
        for part in parts
    }


def main(quick, names):
    """Run the scripts; a failing one does not stop the rest."""
    report, failed = HERE / ("results-quick.md" if quick else "results.md"), []
    opening, parts, note = heading(quick), {}, ""
    if names and report.exists():
        opening, parts = written(report)
        note = f", with {versions(['skbayes_sg', 'numba', *PEERS])}"
    for name in names or SUITE:
        parts[name], has_failed = section(name, quick, note)
        failed += [name] * has_failed
        lines = list(opening)
        for key in sorted(parts, key=SUITE.index):
            lines += parts[key]
        report.write_text("\n".join(lines), encoding="utf-8")
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(SUITE), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="minutes, not an hour")
    arguments = parser.parse_args()
    sys.exit(main(arguments.quick, arguments.names))
