"""Command of the truth suite; see `python -m tests.truth --help`."""

import argparse
import json
import sys
import time

from tests.truth.kinds import KINDS
from tests.truth.reporting import as_dict, line, table
from tests.truth.running import Combination, combinations, run


def main(arguments=None):
    parser = argparse.ArgumentParser("python -m tests.truth", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the combinations")
    parser.add_argument("--n", type=int, default=100, help="number of combinations")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, metavar="KIND")
    parser.add_argument("--only", help="one combination again, as it was printed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", help="file to write all outcomes to")
    given = parser.parse_args(arguments)
    chosen = combinations(given.seed, given.n, given.kinds)
    if given.only:
        chosen = [Combination.parse(given.only)]
    start = time.perf_counter()
    outcomes = run(chosen, given.jobs, lambda outcome: print(line(outcome), flush=True))
    print(f"\n{table(outcomes)}\n{time.perf_counter() - start:.0f} s")
    if given.json:
        with open(given.json, "w") as file:
            json.dump([as_dict(outcome) for outcome in outcomes], file, indent=1)
    return int(any(o.label in ("silent", "failure") for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
