"""Neural networks for numbers."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.kernels.likelihoods import Gaussian, InputDependentGaussian
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from skbayes_sg.neural_network._base import BaseMLP
from skbayes_sg.neural_network._regressor_predictions import RegressorPredictionsMixin
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_magnitude,
    check_option,
    check_sample_weight,
)

# The prior of the precision of the noise, in units of the variance of y: it counts as
# one target with an error of a tenth of their standard deviation.
NOISE_SHAPE, NOISE_RATE = 0.5, 0.005
NOISES = {
    "constant": Gaussian(NOISE_SHAPE, NOISE_RATE),
    "input-dependent": InputDependentGaussian(),
}


class SGMCMCRegressorMLP(RegressorPredictionsMixin, RegressorMixin, BaseMLP):
    """Neural network for numbers by stochastic-gradient MCMC, with any sampler.

    The noise is Gaussian. Its precision is drawn from its exact conditional
    distribution, under a weakly informative prior that counts as one target with an
    error of 0.1 standard deviations. Targets are standardized for the fit and
    predictions are transformed back, so that the priors suit targets of any scale.

    Parameters
    ----------
    noise : {"constant", "input-dependent"}, default="constant"
        Whether the precision of the noise is the same for all samples, or the
        exponential of further outputs of the network, one for each target.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws for standardized targets: for each layer the weights (inputs,
        outputs) by rows and the biases, then the log precision of the noise of each
        output if it is constant, then the precisions of the weights and the biases of
        each layer.
    y_mean_, y_scale_ : ndarray of shape (n_outputs,)
        Mean and standard deviation of the targets of the first fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGMCMCRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGMCMCRegressorMLP((20,), n_draws=20, n_chains=2, random_state=0)
    >>> mean, std = model.fit(X, y).predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))
    """

    _y_ndim = 2

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        *,
        activation="relu",
        weight_precision="hierarchical",
        noise="constant",
        step_size="auto",
        gradient="minibatch",
        batch_size="auto",
        preconditioner="auto",
        n_draws=100,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        temperature=1.0,
        noise_correction=False,
        sampler=None,
        dtype="float32",
        storage=None,
        storage_dtype=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            hidden_layer_sizes,
            activation=activation,
            weight_precision=weight_precision,
            step_size=step_size,
            gradient=gradient,
            batch_size=batch_size,
            preconditioner=preconditioner,
            n_draws=n_draws,
            burn_in=burn_in,
            thin=thin,
            n_chains=n_chains,
            schedule=schedule,
            temperature=temperature,
            noise_correction=noise_correction,
            sampler=sampler,
            dtype=dtype,
            storage=storage,
            storage_dtype=storage_dtype,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.noise = noise

    noise = "constant"  # of files of version 0.1.0, which had no other

    @property
    def _likelihood(self):
        return NOISES[self.noise]

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Draw from the posterior of the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_or_continue(X, y, sample_weight)

    @with_callbacks
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        total_samples: int | None = None,
    ) -> Self:
        """Advance the chains, with these rows as the minibatch.

        The likelihood is scaled up to all rows seen so far, or to `total_samples` rows.
        Each call makes `thin` iterations and keeps one draw of each chain; `samples_`
        holds those of the last `n_draws` calls. The first call trains the networks and
        determines the scale of the targets for all calls.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of training data, a random sample of all.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        total_samples : int, default=None
            Number of rows of the whole data set. None is the number seen so far.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_or_continue(X, y, sample_weight, True, total_samples)

    def _fit_or_continue(self, X, y, sample_weight, partial=False, total_samples=None):
        sampler = self._check_network()
        check_option("noise", self.noise, NOISES)
        first = not (partial and hasattr(self, "samples_"))
        with all_or_nothing(self):
            X, y = self._validate(X, y, reset=first, multi_output=True, y_numeric=True)
            weights = check_sample_weight(sample_weight, len(y))
            targets = np.asarray(y, np.float64).reshape(len(y), -1)
            check_magnitude("y", targets, np.float64, "measure it in larger units")
            if first:
                self.y_mean_ = np.average(targets, axis=0, weights=weights)
                spread = np.average(
                    (targets - self.y_mean_) ** 2, axis=0, weights=weights
                )
                self.y_scale_ = np.where(spread > 0, np.sqrt(spread), 1.0)
                self._y_shape = y.shape[1:]
            elif targets.shape[1] != len(self.y_mean_):
                raise ValueError(
                    f"y has {targets.shape[1]} columns, but the first call had "
                    f"{len(self.y_mean_)}"
                )
            batch = self._rows_of_batch(len(y), total_samples) if partial else None
            targets = (targets - self.y_mean_) / self.y_scale_
            n_outputs = targets.shape[1] * (2 if self.noise != "constant" else 1)
            fit = self._fit_network(X, targets, weights, n_outputs, sampler, batch)
        return self._finished(fit)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class SGLDRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by Langevin dynamics.

    The sampler is `LeimkuhlerMatthews`, SGLD with second-order noise, or plain `SGLD`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGLDRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGLDRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = (SGLD, LeimkuhlerMatthews)


class SGHMCRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by stochastic gradient HMC.

    The sampler is `BAOAB`, a second-order splitting, or `SGHMC`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGHMCRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGHMCRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "baoab"
    _sampler_kinds = (SGHMC, BAOAB)


class SGNHTRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by the Nose-Hoover thermostat.

    The sampler is `BADODAB`, a second-order splitting, or `SGNHT`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGNHTRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGNHTRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "badodab"
    _sampler_kinds = (SGNHT, BADODAB)
