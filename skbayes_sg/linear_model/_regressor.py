"""What regressions of numbers share: fitting, predictions, intervals, draws of y."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_random_state

from skbayes_sg.base._arviz import ScipyLaws
from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._diagnostics import check_probability
from skbayes_sg.base._streaming import takes_batches
from skbayes_sg.kernels.models.glm_units import Units
from skbayes_sg.linear_model._glm import BaseGLM
from skbayes_sg.utils._mixtures import INTERVAL_DRAWS, mixture_quantile
from skbayes_sg.utils._typing import MatrixLike, Predictions, RandomState
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_integer,
    check_magnitude,
    check_sample_weight,
)

NOTHING = np.empty(0)


class BaseRegressor(RegressorMixin, BaseGLM):
    """Base of regressions of numbers and counts.

    A subclass gives the likelihood, by `_likelihood`; the units in which y is learned,
    by `_unit_of`; and, given predictors (draws, K, n) and noise (draws, q), the mean,
    the variance and the law of y, by `_mean`, `_variance` and `_law`, which returns a
    frozen distribution of SciPy.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Posterior means of the coefficients.
    intercept_ : float or ndarray of shape (n_outputs,)
        Posterior means of the intercepts.
    """

    _y_options = {"y_numeric": True}
    _is_discrete = False

    def __init__(
        self,
        *,
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=1000,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        temperature=1.0,
        noise_correction=False,
        prior="normal",
        prior_variance=10.0,
        intercept_variance="auto",
        positive=False,
        bounds=None,
        fit_intercept=True,
        sampler=None,
        storage=None,
        keep="draws",
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.step_size = step_size
        self.gradient = gradient
        self.batch_size = batch_size
        self.preconditioner = preconditioner
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.schedule = schedule
        self.temperature = temperature
        self.noise_correction = noise_correction
        self.prior = prior
        self.prior_variance = prior_variance
        self.intercept_variance = intercept_variance
        self.positive = positive
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.sampler = sampler
        self.storage = storage
        self.keep = keep
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Draw from the posterior of the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; several outputs only of `SGMCMCLinearRegression`.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_rows(X, y, sample_weight)

    @available_if(takes_batches)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        total_samples: int | None = None,
    ) -> Self:
        """Advance the chains, with these rows as the minibatch.

        The rows of a call stand for all rows seen so far, or for `total_samples`. Each
        call makes `thin` iterations, one if it is "auto", and keeps one draw of each
        chain; `samples_` holds those of the last `n_draws` calls. Units of the data are
        those of the first call. Batches must be random samples of the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        total_samples : int, default=None
            Number N of rows of the whole data set. None: all rows seen so far.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_rows(X, y, sample_weight, None, True, total_samples)

    def _fit_rows(self, X, y, weights, log_exposure=None, partial=False, total=None):
        sampler = self._check_parameters()
        first = not (partial and hasattr(self, "n_samples_seen_"))
        with all_or_nothing(self):
            X, y = self._validate(X, y, reset=first, **self._y_options)
            weights = check_sample_weight(weights, len(y))
            targets = self._checked_targets(y).reshape(len(y), -1).T
            offsets = NOTHING if log_exposure is None else log_exposure(X)
            if first:
                self._unit = self._unit_of(targets, weights, offsets)
                self._y_shape = y.shape[1:]
            elif len(targets) != self._n_outputs:
                raise ValueError(
                    f"y has {len(targets)} columns, but the first call had "
                    f"{self._n_outputs}"
                )
            seen = rows = len(y)
            if partial:
                seen, rows = self._rows_of_batch(len(y), total)
            targets, offsets = self._in_units(targets, offsets)
            model = self._model_of(
                self._likelihood(),
                X,
                targets,
                weights,
                len(targets),
                first=first,
                factor=rows / len(y),
                is_batch=partial,
                offsets=offsets,
                units=self._unit,
            )
            fit = (self._sample_batch if partial else self._sample_posterior)(
                model, sampler, *([rows] if partial else [])
            )
            self.n_samples_seen_ = seen
            self._set_moments(len(targets), self._y_shape)
        return self if partial else self._finished(fit)

    def _checked_targets(self, y):
        """Return y in double precision."""
        y = np.asarray(y, np.float64)
        check_magnitude("y", y, np.float64, "measure it in larger units")
        return y

    def _unit_of(self, targets, weights, offsets):
        """Return the `Units` in which targets, (K, n), are learned."""
        shift, scale = self._location_and_scale(targets, weights)
        self.y_center_ = shift.reshape(self._shape_of(shift))[()]
        self.y_scale_ = scale.reshape(self._shape_of(scale))[()]
        return Units(shift=shift if self.fit_intercept else NOTHING, scale=scale)

    def _shape_of(self, values):
        return () if len(values) == 1 else (len(values),)

    def _in_units(self, targets, offsets):
        """Return targets and offsets as the model sees them."""
        shift, scale = self._unit.shift, self._unit.scale
        if shift.size:
            targets = targets - shift[:, None]
        return targets / scale[:, None], offsets

    def predict(self, X: MatrixLike, return_std: bool = False) -> Predictions:
        """Return the mean of each sample's predictive distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Also return its standard deviation, that of the noise included.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Posterior predictive means.
        std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        return self._predict(X, return_std)

    def predict_interval(self, X: MatrixLike, level: float = 0.9) -> np.ndarray:
        """Return intervals that contain new targets with a given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        level : float, default=0.9
            Predictive probability of each interval, with equal tails.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper bounds.
        """
        return self._predict_interval(X, level)

    def sample_y(
        self, X: MatrixLike, n_samples: int = 1, random_state: RandomState = 0
    ) -> np.ndarray:
        """Draw targets from the posterior predictive distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            Samples.
        n_samples : int, default=1
            Draws of each sample's target.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        y : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, \
n_samples)
            Draws.
        """
        return self._sample_y(X, n_samples, random_state)

    def _predict(self, X, return_std=False, log_exposure=None):
        X, parts = self._validated(X), []
        for rows, block in self._row_blocks(X):
            mean = square = inner = 0.0
            for eta, noise, w in self._predictors(block):
                eta = self._moved(eta, log_exposure, rows)
                each = self._mean(eta, noise)
                mean = mean + np.tensordot(w, each, axes=1)
                if return_std:
                    square = square + np.tensordot(w, each**2, axes=1)
                    variances = np.broadcast_to(self._variance(eta, noise), each.shape)
                    inner = inner + np.tensordot(w, variances, axes=1)
            spread = np.sqrt(np.maximum(square - mean**2, 0.0) + inner)
            parts.append((mean, np.broadcast_to(spread, mean.shape)))
        mean, std = (
            self._for_user(np.hstack(each)) for each in zip(*parts, strict=True)
        )
        return (mean, std) if return_std else mean

    def _predict_interval(self, X, level, log_exposure=None):
        check_probability(level, "level")
        X, draws, parts = self._validated(X), None, []
        if not hasattr(self, "moments_"):
            draws = self._representative_draws(INTERVAL_DRAWS)
        for rows, block in self._row_blocks(X):
            laws = [
                self._law(self._moved(eta, log_exposure, rows), noise)
                for eta, noise, _ in self._predictors(block, draws)
            ]
            tails = 0.5 * (1 - level), 0.5 * (1 + level)
            bounds = [mixture_quantile(laws, q, self._is_discrete) for q in tails]
            parts.append(np.stack(bounds, axis=-1))
        bounds = np.concatenate(parts, axis=1)
        return np.stack([self._for_user(bounds[..., i]) for i in (0, 1)], axis=-1)

    def _sample_y(self, X, n_samples, random_state, log_exposure=None):
        check_integer("n_samples", n_samples, at_least=1)
        X, rng = self._validated(X), check_random_state(random_state)
        draws = None
        if not hasattr(self, "moments_"):
            draws, weights = self._flat_draws(), self._flat_weights()
            draws = draws[rng.choice(len(draws), n_samples, p=weights)]
        eta, noise, _ = zip(*self._predictors(X, draws), strict=True)
        eta, noise = np.concatenate(eta), np.concatenate(noise)
        if draws is None:
            chosen = rng.choice(len(eta), n_samples)
            eta, noise = eta[chosen], noise[chosen]
        every = slice(0, X.shape[0])
        law = self._law(self._moved(eta, log_exposure, every), noise)
        y = law.rvs(size=eta.shape, random_state=rng)
        y = np.moveaxis(y, 0, -1).swapaxes(0, 1)  # (n, K, n_samples)
        return y.reshape(len(y), *self._y_shape, n_samples)

    def _laws_of_targets(self, X, log_exposure=None):
        X = self._validated(X)
        eta, noise, _ = zip(*self._predictors(X, self._flat_draws()), strict=True)
        eta, noise = np.concatenate(eta), np.concatenate(noise)
        eta = self._moved(eta, log_exposure, slice(0, X.shape[0]))
        return ScipyLaws(self._law(eta, noise), eta.shape, self._y_shape)

    def _moved(self, eta, log_exposure, rows):
        """Return predictors of rows with their exposures, if there are any."""
        if log_exposure is None or not log_exposure.size:
            return eta
        return eta + log_exposure[rows]

    def _for_user(self, values):
        """Return (K, n) values in the shape of y."""
        return values.T.reshape(values.shape[1], *self._y_shape)
