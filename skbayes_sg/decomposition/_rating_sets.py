"""Whether the sets of items that users rated help to predict held-out ratings.

Which items a user has rated tells something of the user before any rating is looked at,
and so do the users of an item (the sets of SVD++, Koren, 2008; "flipped" sets by
Rendle, Zhang and Koren, 2019). They enter as features of users and items.
"""

import numpy as np
import scipy.sparse as sp

from skbayes_sg.decomposition._rating_memory import USUAL_DRAWS
from skbayes_sg.decomposition._rating_model import build_model
from skbayes_sg.inference.exploration import Settings
from skbayes_sg.inference.exploration.matrix_factorization import WARM_UP_SAMPLER
from skbayes_sg.inference.fitting import Job, computed_once, fit_chains
from skbayes_sg.inference.progress import Bar
from skbayes_sg.inference.rating_predictions import pair_moments, rating_draws

MIN_TRIED, MAX_TRIED = 5_000, 2_000_000  # ratings; sets are not tried outside
HELD_OUT, MAX_HELD_OUT = 0.1, 50_000  # share and number of the ratings
TRIAL_DRAWS, TRIAL_BURN_IN = 12, 70
MAX_DRAW_BYTES = 2**30  # of all draws with sets


def use_sets(estimator, ratings, features):
    """Return whether to add sets to the features, as `implicit_sets` says.

    "auto" makes two short fits to nine tenths of the ratings and compares errors on the
    rest. The outcome depends on the data alone, not on the seed.
    """
    if estimator.feedback == "implicit":
        return False
    if estimator.implicit_sets != "auto":
        return estimator.implicit_sets
    if not MIN_TRIED <= len(ratings.y) <= MAX_TRIED:
        return False
    width = estimator.n_factors + estimator.biases
    n_draws = USUAL_DRAWS if estimator.n_draws == "auto" else estimator.n_draws
    size = 2 * sum(ratings.sizes) * width * n_draws
    if 4 * size * estimator.n_chains > MAX_DRAW_BYTES:
        return False

    def compare():
        rng = np.random.default_rng(0)
        share = min(HELD_OUT, MAX_HELD_OUT / len(ratings.y))
        out = rng.random(len(ratings.y)) < share
        parts = ratings.part(~out), ratings.part(out)
        without, with_sets = (
            _error(estimator, *parts, features, adds) for adds in (False, True)
        )
        return with_sets < without

    return computed_once("implicit sets", compare)


def with_sets(features, ratings):
    """Return the features of users and of items, those of their sets appended."""
    sets = ratings.sets()
    both = zip(features, sets, strict=True)
    return [sp.csr_array(sp.hstack(pair)) for pair in both]


def _error(estimator, train, test, features, adds):
    """Return the error on `test` of a short fit to `train`."""
    if adds:
        features = with_sets(features, train)
    mean = float(np.average(train.y, weights=train.weights))
    model = build_model(estimator, train, features, mean)
    options = {"n_draws": TRIAL_DRAWS, "burn_in": TRIAL_BURN_IN}
    settings = Settings(n_chains=1, gradient="full", **options)
    job = Job(WARM_UP_SAMPLER, settings, (0,), None, Bar(False))
    draws = rating_draws(model, fit_chains(model, job).draws[0])
    means = mean + pair_moments(draws, test.codes, test.values).mean
    means = np.clip(means, train.y.min(), train.y.max())
    weights = np.ones(len(test.y)) if test.weights is None else test.weights
    return float(np.average((means - test.y) ** 2, weights=weights))
