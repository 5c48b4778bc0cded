"""Hidden Markov models of counts and of symbols."""

import numpy as np

from skbayes_sg.kernels.models import CategoricalEmission, PoissonEmission
from skbayes_sg.sequence._base import check_observations
from skbayes_sg.sequence._hmm import BaseHMM, check_dirichlet
from skbayes_sg.utils._validation import check_integer, check_number

MAX_SYMBOLS = 10_000  # of an automatic number


def check_whole(X, what):
    """Raise a ValueError unless the numbers in X are 0, 1, 2, ... or missing."""
    for part in np.array_split(X, max(1, len(X) // 1_000_000)):
        wrong = ~(np.isnan(part) | ((part >= 0) & (part == np.floor(part))))
        if wrong.any():
            raise ValueError(
                f"X holds {part[wrong][0]:g}, but {what} are whole numbers, 0 or more, "
                "or NaN where missing"
            )


class SGMCMCPoissonHMM(BaseHMM):
    """Hidden Markov model of counts, which are Poisson given the state.

    See `SGMCMCGaussianHMM` for the algorithm. States are labeled by the rate of the
    first feature, in ascending order at the mode.

    Parameters
    ----------
    lambdas_prior : float, default=1.0
        Shape of the Gamma prior of the rates.
    lambdas_weight : float or None, default=None
        Rate of that prior; None is `lambdas_prior` over the mean of X, for a prior mean
        that is the mean of X.

    Attributes
    ----------
    lambdas_, lambdas_std_ : ndarray of shape (n_components, n_features)
        Rates of the states: posterior means and standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCPoissonHMM
    >>> states = np.repeat([0, 1, 0, 1], 200)
    >>> X = np.random.default_rng(0).poisson(np.array([2, 12])[states])[:, None]
    >>> model = SGMCMCPoissonHMM(2, random_state=0).fit(X)
    >>> bool(np.all(abs(model.lambdas_[:, 0] - [2, 12]) < 4 * model.lambdas_std_[:, 0]))
    True
    """

    def __init__(
        self,
        n_components=1,
        *,
        startprob_prior=1.0,
        transmat_prior=1.0,
        lambdas_prior=1.0,
        lambdas_weight=None,
        algorithm="viterbi",
        n_init=12,
        block_length="auto",
        buffer_length="auto",
        sampler=None,
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=250,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        noise_correction=False,
        storage=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._store(locals())

    def _check_parameters(self):
        check_number("lambdas_prior", self.lambdas_prior, above=0)
        if self.lambdas_weight is not None:
            check_number("lambdas_weight", self.lambdas_weight, above=0)
        return super()._check_parameters()

    def _check_data(self, X, reset):
        X = check_observations(self, X, reset=reset, names="counts")
        check_whole(X, "counts")
        return X

    def _emission(self, X):
        weight = self.lambdas_weight
        if weight is None:
            weight = self.lambdas_prior / max(float(np.nanmean(X)), 1e-3)
        return PoissonEmission(
            n_states=self.n_components,
            n_features=X.shape[1],
            shape=float(self.lambdas_prior),
            rate=float(weight),
        )

    def _emission_shapes(self):
        return (("lambdas", self.lambdas_.shape),)

    def _set_emission(self, mean, std):
        self.lambdas_ = mean.reshape(self.n_components, -1)
        self.lambdas_std_ = std.reshape(self.n_components, -1)


class SGMCMCCategoricalHMM(BaseHMM):
    """Hidden Markov model of symbols 0, 1, 2, ... with a probability for each state.

    See `SGMCMCGaussianHMM` for the algorithm. States are labeled by the probability of
    the symbol 0, in descending order at the mode.

    Parameters
    ----------
    emissionprob_prior : float or array-like of shape (n_components, n_symbols), \
default=1.0
        Parameters of the Dirichlet priors of the rows of `emissionprob_`.
    n_symbols : int or None, default=None
        Number of symbols; None is the largest in X plus one, up to 10,000.

    Attributes
    ----------
    emissionprob_, emissionprob_std_ : ndarray of shape (n_components, n_symbols)
        Probabilities of symbols in states: posterior means and standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCCategoricalHMM
    >>> rng, states = np.random.default_rng(0), np.repeat([0, 1, 0, 1], 250)
    >>> X = np.where(rng.random(1000) < 0.8, states, 2)[:, None]
    >>> model = SGMCMCCategoricalHMM(2, random_state=0).fit(X)
    >>> bool(np.mean(model.predict(X) == states) > 0.95)
    True
    """

    def __init__(
        self,
        n_components=1,
        *,
        startprob_prior=1.0,
        transmat_prior=1.0,
        emissionprob_prior=1.0,
        n_symbols=None,
        algorithm="viterbi",
        n_init=12,
        block_length="auto",
        buffer_length="auto",
        sampler=None,
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=250,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        noise_correction=False,
        storage=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._store(locals())

    def _check_parameters(self):
        if self.n_symbols is not None:
            check_integer("n_symbols", self.n_symbols, at_least=2)
        return super()._check_parameters()

    def _check_data(self, X, reset):
        X = check_observations(self, X, reset=reset, names="symbols")
        check_whole(X, "symbols")
        if X.shape[1] != 1:
            raise ValueError(
                f"X has {X.shape[1]} columns; symbols are one column of whole numbers"
            )
        largest = int(np.nanmax(X)) if not np.isnan(X).all() else 0
        if reset:
            if self.n_symbols is None and largest >= MAX_SYMBOLS:
                raise ValueError(
                    f"X holds the symbol {largest}, and a state would have a "
                    "probability for each symbol from 0 on; number the symbols that "
                    "occur by np.unique(X, return_inverse=True), or set n_symbols"
                )
            self._n_symbols = self.n_symbols or max(2, largest + 1)
        if largest >= self._n_symbols:
            raise ValueError(
                f"X holds the symbol {largest}, but there are {self._n_symbols}, from "
                "0 on; fit with a larger n_symbols"
            )
        return X

    def _emission(self, X):
        shape = self.n_components, self._n_symbols
        name = "emissionprob_prior"
        return CategoricalEmission(
            check_dirichlet(name, self.emissionprob_prior, shape)
        )

    def _emission_shapes(self):
        return (("emissionprob", self.emissionprob_.shape),)

    def _set_emission(self, mean, std):
        self.emissionprob_ = mean.reshape(self.n_components, -1)
        self.emissionprob_std_ = std.reshape(self.n_components, -1)
