"""Draw random combinations, fit them, and compare them with their references."""

import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from tests.truth.families import FAMILIES
from tests.truth.judging import judge, listen
from tests.truth.kinds import KINDS

PER_DATA_SET = 4  # combinations that share data and their reference


class Combination(NamedTuple):
    """A fit that can be repeated; `str` gives what ``--only`` takes."""

    kind: str
    data_seed: int
    sampler: str
    gradient: str
    fit_seed: int

    def __str__(self):
        return ":".join(map(str, self))

    @classmethod
    def parse(cls, text):
        """Return the combination of a string."""
        kind, data_seed, sampler, gradient, fit_seed = text.split(":")
        return cls(kind, int(data_seed), sampler, gradient, int(fit_seed))


class Outcome(NamedTuple):
    """What came of a combination."""

    combination: Combination
    verdict: object  # None if there are no draws
    said: list  # of str: warnings of convergence, or the error
    failure: str  # an error that is neither a divergence nor a refusal, or ""
    method: str  # of the reference
    seconds: float
    reference_seconds: float

    @property
    def label(self):
        """One of silent, warned, false alarm, short, failure and right."""
        if self.failure:
            return "failure"
        if self.verdict is None or (self.said and self.verdict.wrong):
            return "warned"
        if self.said:
            return "false alarm"
        if self.verdict.wrong:
            return "silent"
        return "short" if self.verdict.is_short else "right"


def make_problem(kind, data_seed):
    """Return the problem of a kind, and a generator for its reference."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), data_seed])
    return KINDS[kind](rng), rng


def combinations(seed, n, kinds=None):
    """Return `n` random combinations, as many of each kind, sorted by their data."""
    kinds = list(KINDS) if kinds is None else kinds
    rng, found = np.random.default_rng(seed), []
    for i in range(n):
        kind = kinds[i % len(kinds)]
        data_seed = 1000 * seed + i // len(kinds) // PER_DATA_SET
        problem, _ = make_problem(kind, data_seed)
        family = FAMILIES[problem.family]
        sampler = _choose(rng, family.choices(problem, family.samplers))
        gradient = _choose(rng, family.choices(problem, family.gradients))
        fit_seed = int(rng.integers(10**6))
        found.append(Combination(kind, data_seed, sampler, gradient, fit_seed))
    return sorted(found)


def _choose(rng, weights):
    shares = np.array(list(weights.values()), float)
    return str(rng.choice(list(weights), p=shares / shares.sum()))


def run(combinations, jobs=1, report=None):
    """Return the outcomes; each is given to ``report`` as it comes."""
    groups = [list(group) for _, group in groupby(combinations, _data)]
    outcomes = []
    for part in _mapped(run_group, groups, jobs):
        for outcome in part:
            outcomes.append(outcome)
            if report is not None:
                report(outcome)
    return outcomes


def _data(combination):
    return combination.kind, combination.data_seed


def _mapped(function, groups, jobs):
    if jobs == 1:
        yield from map(function, groups)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, groups)


def run_group(group):
    """Return the outcomes of combinations with the same data: one reference for all."""
    start = time.perf_counter()
    problem, rng = make_problem(*_data(group[0]))
    family = FAMILIES[problem.family]
    reference = family.reference(problem, rng)
    spent = time.perf_counter() - start
    first = run_one(group[0], problem, family, reference, spent)
    return [first, *(run_one(c, problem, family, reference) for c in group[1:])]


def run_one(combination, problem, family, reference, spent=0.0):
    """Return the outcome of one combination."""
    start, draws, said, failure = time.perf_counter(), None, [], ""

    def fit():
        return family.fit(problem, *combination[2:])

    try:
        draws, said = listen(fit)
    except Exception as error:  # what a user would see as a traceback
        failure = f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - start
    verdict = None if draws is None else judge(draws, reference)
    return Outcome(
        combination, verdict, said, failure, reference.method, seconds, spent
    )
