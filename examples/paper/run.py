"""Every table, figure and claim of Nemeth & Fearnhead (2021), in one HTML report.

    python examples/paper/run.py [--quick] [--only 6.1 ...] [--file report.html]

Stochastic gradient Markov chain Monte Carlo, Journal of the American Statistical
Association 116(533), 433-450. MNIST and MovieLens 100K are read from the folder
SKBAYES_SG_DATA, or downloaded; without them their sections say so.
"""

import argparse
import os
import platform
import time
import traceback
from pathlib import Path

import factors
import gaussian
import graph
import logistic
import network
import numba
import numpy as np
import series
import simplex
import stein
from report import Report

import skbayes_sg

SECTIONS = {
    "2.5": gaussian.run,
    "4": stein.run,
    "5.1": simplex.run,
    "5.2": series.run,
    "5.3": graph.run,
    "6.1": logistic.run,
    "6.2": network.run,
    "6.3": factors.run,
}
ERRATA = (
    "Section 2.5 prints the covariance of the corrected noise as the identity; it must "
    "be h times the identity. Table 1 has (η − A)² / (2 d) in the energy of SG-NHT, "
    "whose thermostat averages over d: the factor is d / 2. Section 4 prints ∇U in the "
    "Stein kernel; with its sign the cross terms are wrong. Section 6.1 prints M with "
    "the sum of x'x, a looser bound than the largest eigenvalue of X'X / 4. In section "
    "6.3 the published code has the noise precision 1 in the place of 3, multiplies "
    "the priors of the factors by N / n and adds noise to the rows of a minibatch "
    "only; its control-variate chains have h = 1e-10 and do not move. Momenta of "
    "SG-HMC are refreshed there with half of their variance. The networks of section "
    "6.2 sample precisions there that may become negative. Here all of these are as "
    "the text of the paper means them."
)


def main(quick, only, file):
    """Run the sections and write the report."""
    report = Report("Stochastic gradient MCMC: the paper, reproduced")
    began = time.perf_counter()
    for number, section in SECTIONS.items():
        if only and number not in only:
            continue
        start = time.perf_counter()
        try:
            section(report, quick)
        except OSError as error:  # no data, and no network to get them
            report.text(f"Not run: {error}")
            report.claim(number, "All of this section.", None, f"not run: {error}")
            traceback.print_exc()
        report.text(f"This section took {time.perf_counter() - start:.0f} seconds.")
    minutes = (time.perf_counter() - began) / 60
    report.write(
        file,
        [
            "C. Nemeth and P. Fearnhead (2021). Stochastic gradient Markov chain Monte "
            "Carlo. Journal of the American Statistical Association 116(533), 433–450. "
            "Published numbers beside those of this run.",
            f"skbayes_sg {skbayes_sg.__version__}, numba {numba.__version__}, numpy "
            f"{np.__version__}, {platform.machine()}, {os.cpu_count()} cores; "
            f"{minutes:.0f} minutes, compilation included; "
            + ("shortened by `--quick`." if quick else "at full length.")
            + " All seeds are 0 unless a caption says otherwise.",
            f"Errata. {ERRATA}",
        ],
    )
    print(f"\n{file}: {minutes:.1f} minutes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="five minutes")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=())
    parser.add_argument("--file", type=Path, default=Path("paper.html"))
    args = parser.parse_args()
    main(args.quick, args.only, args.file)
