"""The truth suite: its machinery in seconds, 300 combinations in the long run."""

import json
import os
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skbayes_sg import DivergenceError
from tests.truth.__main__ import main
from tests.truth.densities import GLM, Numeric
from tests.truth.families import FAMILIES
from tests.truth.families.networks import with_moments
from tests.truth.judging import judge, listen
from tests.truth.kinds import KINDS
from tests.truth.references import (
    MAX_KHAT,
    Reference,
    from_chains,
    from_weighted,
    importance,
    pareto_k,
    quadrature,
    slices,
)
from tests.truth.reporting import table
from tests.truth.running import (
    Combination,
    Outcome,
    combinations,
    make_problem,
    run,
    run_one,
)

NORMAL = Reference(
    np.zeros(3), np.ones(3), np.full(3, 3.0), np.zeros(3), np.zeros(3), "known"
)


def line_densities():
    """Return posteriors of a slope and an intercept, from mild to hostile."""
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.standard_normal(60), np.ones(60)])
    rare, separated = np.arange(60) < 1, x[:, 0] > 0
    overlapping = rng.random(60) < 0.4
    return [
        GLM(x, overlapping, None, 0.1),
        GLM(x, rare, None, 0.01),
        GLM(x, separated, rng.gamma(1.0, 1.0, 60), 1e-4),
    ]


def assert_agree(found, exact):
    """Assert that moments differ by no more than 4.5 of their standard errors."""
    error = np.hypot(found.mean_error, exact.mean_error)
    assert np.all(np.abs(found.mean - exact.mean) / exact.sd < 4.5 * error)
    error = np.hypot(found.sd_error, exact.sd_error)
    assert np.all(np.abs(found.sd / exact.sd - 1) < 4.5 * error)
    np.testing.assert_allclose(found.kurtosis, exact.kurtosis, rtol=0.3)


# References
@pytest.mark.parametrize("density", line_densities())
def test_importance_sampling_and_slices_agree_with_quadrature(density):
    exact = quadrature(density)
    found, khat = importance(density, np.random.default_rng(0))
    assert khat < MAX_KHAT
    assert_agree(found, exact)
    assert_agree(slices(density, np.random.default_rng(1)), exact)


def test_two_classes_of_softmax_are_logistic_regression():
    logistic = line_densities()[0]
    A, y = logistic.A, logistic.y.astype(int)
    # The difference of two N(0, v) coefficients is N(0, 2 v).
    softmax = GLM(A, y, None, 2 * logistic.precision, 2)
    found, _ = importance(
        softmax, np.random.default_rng(0), lambda t: t[:, 2:] - t[:, :2]
    )
    assert_agree(found, quadrature(logistic))


def test_derivatives_are_those_of_the_density():
    rng = np.random.default_rng(0)
    density = GLM(rng.standard_normal((20, 2)), rng.integers(3, size=20), None, 0.5, 3)
    theta, e = rng.standard_normal(6), 1e-5 * np.eye(6)
    _, g, H = density.derivatives(theta)
    slopes = (density.log(theta + e) - density.log(theta - e)) / 2e-5
    np.testing.assert_allclose(g, slopes, rtol=1e-6, atol=1e-7)
    sides = [density.derivatives(theta + s)[1] for s in (*e, *-e)]
    np.testing.assert_allclose(-H, np.subtract(sides[:6], sides[6:]) / 2e-5, atol=1e-6)


def test_a_numeric_density_needs_no_derivatives():
    glm = line_densities()[0]
    numeric = Numeric(glm.log, glm.dim, glm.cost)
    for ours, theirs in zip(numeric.laplace(), glm.laplace(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-2, atol=1e-3)


def test_standard_errors_are_those_of_independent_draws():
    z = np.random.default_rng(0).standard_normal((50, 200, 1))
    flat = from_weighted(z.reshape(-1, 1), np.full(10_000, 1e-4), "")
    chains = from_chains(z, "")
    for found, rtol in ((flat, 0.05), (chains, 0.3)):  # 50 chains: 10 % error of it
        np.testing.assert_allclose(found.mean_error, 0.01, rtol=rtol)
        np.testing.assert_allclose(found.sd_error, 0.01 / 2**0.5, rtol=rtol)


@pytest.mark.parametrize("shape", [0.2, 0.5, 1.0])
def test_pareto_k_is_the_shape_of_the_tail(shape):
    uniform = np.random.default_rng(0).random(100_000)
    assert abs(pareto_k(uniform**-shape) - shape) < 0.15


# Judging
def normal_draws(scale=1.0, shift=0.0):
    """Return draws whose sample moments are exact: sds of `scale`, means of `shift`.

    Left to chance, 4,000 draws whose sds are 15 % too wide are found 9 times in 10.
    """
    draws = np.random.default_rng(0).standard_normal((4, 1000, 3))
    draws = (draws - draws.mean(axis=(0, 1))) / draws.std(axis=(0, 1))
    draws[..., 1] = scale * draws[..., 1] + shift
    return draws


def test_right_draws_are_right():
    assert not judge(normal_draws(), NORMAL).wrong
    assert not judge(normal_draws(1.05, 0.05), NORMAL).wrong


@pytest.mark.parametrize(
    "scale, shift", [(1.15, 0.0), (0.85, 0.0), (1.0, 0.2), (0.0, 0.0), (20.0, 0.0)]
)
def test_wrong_draws_are_wrong(scale, shift):
    verdict = judge(normal_draws(scale, shift), NORMAL)
    assert verdict.wrong
    np.testing.assert_allclose(verdict.sd_ratio, scale, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(verdict.mean_shift, shift, rtol=1e-6, atol=1e-12)


def test_a_few_excursions_do_not_excuse_themselves():
    draws = normal_draws()
    draws[0, 100:110, 1] = 300.0
    assert judge(draws, NORMAL).wrong


def test_draws_with_heavy_tails_are_judged_by_what_has_moments():
    """Biases of two classes with a learned precision: t with 3 degrees of freedom.

    Of 100 sets of independent draws, those with the right law are right, and of those
    that are 1.5 times too wide at least 95 are wrong.
    """

    def draws(rng, n, scale=1.0):
        mean = scale * rng.standard_t(3.0, (*n, 1, 1))
        return with_moments(mean + rng.standard_normal((*n, 2, 1)))[..., 0]

    exact = from_chains(draws(np.random.default_rng(0), (64, 5000)), "independent")
    found = np.zeros(2, int)
    for seed in range(1, 101):
        for i, scale in enumerate([1.0, 1.5]):
            some = draws(np.random.default_rng(seed), (4, 400), scale)
            found[i] += judge(some, exact).wrong
    assert found[0] == 0 and found[1] >= 95, found


def test_few_effective_draws_are_short():
    draws = np.cumsum(normal_draws(), axis=1) / 30
    assert judge(draws, NORMAL).is_short


@pytest.mark.parametrize("error", [DivergenceError, ValueError])
def test_errors_are_said(error):
    def fit():
        raise error("too far")

    assert listen(fit) == (None, [f"{error.__name__}: too far"])


class Planted:
    """A family whose draws are known to be wrong, or right."""

    def __init__(self, scale=1.0, shift=0.0, warning=None, error=None):
        self.scale, self.shift = scale, shift
        self.warning, self.error = warning, error

    def fit(self, problem, sampler, gradient, seed):
        if self.error:
            raise self.error
        if self.warning:
            warnings.warn("planted", self.warning, stacklevel=1)
        return normal_draws(self.scale, self.shift)


@pytest.mark.parametrize(
    "label, planted",
    [
        ("right", Planted()),
        ("silent", Planted(1.15)),
        ("silent", Planted(shift=0.2)),
        ("silent", Planted(1.15, warning=UserWarning)),
        ("warned", Planted(1.15, warning=ConvergenceWarning)),
        ("false alarm", Planted(warning=ConvergenceWarning)),
        ("warned", Planted(error=DivergenceError("far away"))),
        ("failure", Planted(error=IndexError("planted"))),
    ],
)
def test_planted_chains_are_counted(label, planted):
    combination = Combination("planted", 0, "sampler", "gradient", 0)
    outcome = run_one(combination, None, planted, NORMAL)
    assert outcome.label == label
    counts = table([outcome]).splitlines()
    column = counts[0].index(label) + len(label)
    assert counts[1][:column].split()[-1] == "1"


# Combinations
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_reproducible_and_have_a_family(kind):
    (first, _), (again, _) = make_problem(kind, 3), make_problem(kind, 3)
    other, _ = make_problem(kind, 4)
    assert first.family in FAMILIES
    np.testing.assert_array_equal(first.y, again.y)
    assert first.options == again.options
    if kind != "real data":
        assert not np.array_equal(first.y, other.y) or first.options != other.options


def test_combinations_come_from_the_seed_and_share_data():
    found = combinations(5, 2 * 4 * len(KINDS))
    assert found == combinations(5, 2 * 4 * len(KINDS))
    assert set(found).isdisjoint(combinations(6, len(KINDS)))
    assert len({c[:2] for c in found}) == 2 * len(KINDS)
    assert {c.kind for c in found} == set(KINDS)
    assert Combination.parse(str(found[0])) == found[0]


def test_the_command_reports_a_handful(tmp_path, capsys):
    path = tmp_path / "outcomes.json"
    kinds = ["plain", "tiny", "sample weights", "no intercept"]
    only = [f"{kind}:0:sgld-lm:full:0" for kind in kinds]
    labels = [main(["--only", text, "--json", str(path)]) for text in only]
    assert labels == [0] * len(kinds), capsys.readouterr().out
    assert "right" in capsys.readouterr().out
    [outcome] = json.loads(path.read_text())
    assert outcome["combination"] == only[-1]
    assert 0.9 < outcome["sd_ratio"] < 1.1


@pytest.mark.long
def test_no_combination_is_wrong_in_silence():
    outcomes = run(combinations(20240917, 300), jobs=os.cpu_count() or 1)
    bad: list[Outcome] = [o for o in outcomes if o.label in ("silent", "failure")]
    assert not bad, table(outcomes) + "\n" + "\n".join(str(o) for o in bad)
