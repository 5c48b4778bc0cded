"""What regressions with linear predictors share, of classes and of numbers alike."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayes_sg.base._sampling import BaseSGMCMC, likelihood_weights
from skbayes_sg.base._streaming import StreamingMixin
from skbayes_sg.inference.predictors import normal_points, predictor_moments
from skbayes_sg.kernels.models.glm_drawn_noise import DrawnNoiseGLM, draws_noise
from skbayes_sg.kernels.models.glm_noise import has_few_rows, in_noise_units
from skbayes_sg.kernels.models.glm_units import Units
from skbayes_sg.kernels.priors import Given
from skbayes_sg.linear_model._priors import PriorMixin
from skbayes_sg.utils._design import (
    centered,
    design_rows,
    far_centers,
    with_valid_indices,
)
from skbayes_sg.utils._validation import (
    check_auto,
    check_bool,
    check_number,
)

if TYPE_CHECKING:
    import pandas as pd


DRAWS_AT_ONCE = 256  # draws whose predictions are held in memory together
ROWS_AT_ONCE = 8192  # rows of them, where only their average is wanted
WIDE = 100.0  # automatic variance of intercepts


class BaseGLM(PriorMixin, StreamingMixin, BaseSGMCMC):
    """Base of regressions with linear predictors.

    A subclass builds the likelihood and encodes y for it. It names its outputs in
    `_output_names`, and the parameters of its likelihood in `_noise_names`.

    Parameters
    ----------
    step_size : float or "auto"
        Step size h: a step drifts by h/2 and adds noise of variance h, in the units of
        the preconditioner (posterior standard deviations for "dense"). `fit` warns of
        one above the limit of stability.
    gradient : str or gradient estimator
        One of `skbayes_sg.kernels.gradients.GRADIENTS`, for instance "full",
        "minibatch" or "cv". "auto" is linear control variates on preferential
        minibatches ("weighted-cv" for skewed posteriors), or the full gradient where
        that is cheaper.
    preconditioner : {"auto", "dense", "diagonal", "none"}
        Coordinates of the sampler, from the Hessian at the mode; "auto" is dense up to
        1,024 parameters, diagonal beyond. With "auto" and fewer rows than parameters,
        chains of logistic and Poisson regressions move in the span of the rows.
    intercept_variance : float or "auto"
        Variance of the Gaussian prior of the intercept, where columns whose mean lies
        more than three standard deviations from zero are at that mean. "auto" is 100,
        so wide that no offset of the data bends the coefficients.
    fit_intercept : bool
        Whether the model has an intercept.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws. For each output, coefficients then intercept; then the
        parameters of the likelihood, if it has any, and the scale of the prior, if it
        is learned.
    moments_ : Moments
        With ``keep="moments"`` or "variances", in place of `samples_`: ``mean`` and
        ``covariance`` of each chain's draws.
    covariance_ : ndarray of shape (dim, dim) or (dim,)
        Then, too: posterior covariance, or its diagonal, of what `samples_` would hold.
    coef_std_, intercept_std_ : ndarray
        Posterior standard deviations, shaped as the means.
    mode_ : ndarray of shape (n_parameters,)
        The posterior mode, in the coordinates in which the chains move: of centered
        columns and standardized targets.
    n_samples_seen_ : int
        Rows of `fit`, or of all calls of `partial_fit`.
    """

    _noise_names = ()
    _noise_is_scale = False  # the first parameter of the likelihood, if it has any
    intercept_variance = "auto"  # of files of version 0.1.0, which had none

    def _check_parameters(self):
        """Check all parameters; return the sampler."""
        sampler = self._check_sampling()
        self._check_prior()
        check_auto("intercept_variance", self.intercept_variance, check_number, above=0)
        check_bool("fit_intercept", self.fit_intercept)
        return sampler

    def _validate(self, X, y, reset=True, **options):
        return validate_data(
            self,
            with_valid_indices(X),
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=False,
            **options,
        )

    def _validated(self, X):
        check_is_fitted(self)
        return validate_data(
            self,
            with_valid_indices(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=False,
        )

    def _model_of(
        self,
        likelihood,
        X,
        y,
        weights,
        n_outputs,
        *,
        first,
        factor=1.0,
        is_batch=False,
        **options,
    ):
        """Return the model of validated data, each row's likelihood times `factor`.

        Columns are centered as in the `first` call of a stream, of which a call gives
        one batch. `options` are further fields of `GLM`.
        """
        if first:
            center = far_centers(X, weights) if self.fit_intercept else np.empty(0)
            self._center = center
        center = self._center
        if center.size:
            X = centered(X, center)
        rows = design_rows(X)
        variances = self._given_variances(X.shape[1])
        if self.fit_intercept:
            width = self.intercept_variance
            if width == "auto":
                width = WIDE
            variances = np.append(variances, width)
        weights = likelihood_weights(weights, self.temperature, X.shape[0], factor)
        units = options.pop("units", Units())._replace(center=center)
        kind, prior = self._prior_of(X.shape[1], factor * X.shape[0])
        model = kind(
            likelihood=likelihood,
            rows=rows,
            y=np.ascontiguousarray(y, X.dtype).ravel(),
            weights=weights.astype(X.dtype),
            prior_precision=np.tile(1.0 / variances, n_outputs),
            intercept=self.fit_intercept,
            n_outputs=n_outputs,
            offsets=options.pop("offsets", np.empty(0)).astype(X.dtype),
            units=units,
            prior=prior,
        )
        bounds = self._checked_bounds(X.shape[1])
        if bounds is not None:
            return self._bounded(model, *bounds)
        if is_batch or not self._noise_is_scale:
            return model
        if not isinstance(prior, Given):
            return DrawnNoiseGLM(*model) if draws_noise(model) else model
        if has_few_rows(model):
            return in_noise_units(model, X.toarray() if issparse(X) else X)
        return model

    def _set_moments(self, n_outputs, shape=None):
        """Set means and standard deviations, in the `shape` of outputs, (K,) or ()."""
        for name in ("covariance_", "prior_scale_", "prior_scale_std_"):
            vars(self).pop(name, None)
        if hasattr(self, "moments_"):
            with np.errstate(over="ignore", invalid="ignore"):
                mean, covariance = self.moments_.pooled()
            variances = np.diagonal(covariance) if covariance.ndim == 2 else covariance
            if not np.isfinite(variances).all():
                raise ValueError(
                    f"keep={self.keep!r} squares coefficients, and some of "
                    f"{np.abs(mean).max():.3g} have squares that overflow; use "
                    'keep="draws", or a smaller prior_variance or temperature'
                )
            self.covariance_ = covariance
            sd = np.sqrt(variances)
        else:
            draws, weights = self._flat_draws(), self._flat_weights()
            mean = weights @ draws
            sd = np.sqrt(weights @ (draws - mean) ** 2)
        shape = (n_outputs,) if shape is None else shape
        for suffix, values in (("_", mean), ("_std_", sd)):
            coef, intercept, noise = self._split(values, n_outputs)
            if self._learns_scale:
                scale = values[-n_outputs:].reshape(shape)[()]
                setattr(self, f"prior_scale{suffix}", scale)
            setattr(self, f"coef{suffix}", coef.reshape(*shape, -1))
            # A number of a single output, not an array without axes.
            setattr(self, f"intercept{suffix}", intercept.reshape(shape)[()])
            for name, each in zip(
                self._noise_names, self._per_name(noise), strict=True
            ):
                setattr(self, f"{name}{suffix}", each.reshape(shape)[()])

    def _per_name(self, noise):
        """Return the parameters of the likelihood by name, of all outputs each."""
        return np.split(noise, len(self._noise_names)) if self._noise_names else []

    @property
    def _n_outputs(self):
        return len(np.atleast_2d(self.coef_))

    def _split(self, draws, n_outputs=None):
        """Return coefficients (..., K, p), intercepts (..., K) and noise of draws."""
        K, p = n_outputs or self._n_outputs, self.n_features_in_
        end = K * (p + int(self.fit_intercept))
        theta = draws[..., :end].reshape(*draws.shape[:-1], K, -1)
        zeros = np.zeros_like(theta[..., 0])
        intercept = theta[..., p] if self.fit_intercept else zeros
        stop = draws.shape[-1] - (K if self._learns_scale else 0)
        return theta[..., :p], intercept, draws[..., end:stop]

    def _output_names(self):
        """Return a name for each output; a single one needs none."""
        return [f"y{k}" for k in range(self._n_outputs)]

    def _parameter_names(self):
        features = [f"x{j}" for j in range(self.n_features_in_)]
        names = list(getattr(self, "feature_names_in_", features))
        if self.fit_intercept:
            names.append("intercept")
        others = [*self._noise_names, *(["prior_scale"] if self._learns_scale else [])]
        if self._n_outputs == 1:
            return [*names, *others]
        outputs = self._output_names()
        return [
            *(f"{name} ({output})" for output in outputs for name in names),
            *(f"{name} ({output})" for name in others for output in outputs),
        ]

    def _arviz_variables(self):
        draws, outputs = self.samples_, self._output_names()
        features = [f"x{j}" for j in range(self.n_features_in_)]
        features = list(getattr(self, "feature_names_in_", features))
        coef, intercept, noise = self._split(draws)
        axes = [] if self._n_outputs == 1 else ["output"]
        each = slice(None) if axes else 0
        arrays = {"coef": coef[:, :, each]}
        if self.fit_intercept:
            arrays["intercept"] = intercept[..., each]
        if self._noise_names:
            kinds = np.split(noise, len(self._noise_names), axis=-1)
            for name, values in zip(self._noise_names, kinds, strict=True):
                arrays[name] = values[..., each]
        if self._learns_scale:
            arrays["prior_scale"] = draws[..., -self._n_outputs :][..., each]
        coords = {"feature": features, **({"output": outputs} if axes else {})}
        dims = {name: list(axes) for name in arrays}
        dims["coef"] = [*axes, "feature"]
        return arrays, coords, dims

    def _predictors(self, X, draws=None):
        """Yield predictors (draws, outputs, n_samples), noise and weights of draws.

        Without `draws`, of all draws, or of points of the Gaussian that has the
        posterior's moments; there the noise is at its posterior mean.
        """
        if draws is None and hasattr(self, "moments_"):
            yield from self._gaussian_predictors(X)
            return
        if draws is None:
            draws, weights = self._flat_draws(), self._flat_weights()
        else:
            weights = np.full(len(draws), 1 / len(draws))
        for first in range(0, len(draws), DRAWS_AT_ONCE):
            block = slice(first, first + DRAWS_AT_ONCE)
            coef, intercept, noise = self._split(draws[block])
            eta = np.stack([X @ each.T for each in np.moveaxis(coef, 1, 0)])
            if self.fit_intercept:
                eta += intercept.T[:, None, :]
            yield np.moveaxis(eta, 2, 0), noise, weights[block]

    def _gaussian_predictors(self, X):
        mean = self.moments_.pooled()[0]
        coef, intercept, noise = self._split(mean)
        if self.fit_intercept:
            coef = np.column_stack([coef, intercept])
        covariance = self.covariance_[: coef.size]
        if covariance.ndim == 2:
            covariance = covariance[:, : coef.size]
        eta, root = predictor_moments(X, coef, covariance, self.fit_intercept)
        points = normal_points(len(coef))
        for first in range(0, len(points), DRAWS_AT_ONCE):
            z = points[first : first + DRAWS_AT_ONCE]
            shift = np.tensordot(z, root, axes=(1, 2))  # (points, n_samples, outputs)
            weights = np.full(len(z), 1 / len(points))
            yield np.moveaxis(eta + shift, 2, 1), np.tile(noise, (len(z), 1)), weights

    def _row_blocks(self, X):
        """Yield parts of validated rows, whose predictions are made together."""
        for first in range(0, X.shape[0], ROWS_AT_ONCE):
            yield slice(first, first + ROWS_AT_ONCE), X[first : first + ROWS_AT_ONCE]

    def summary(
        self, *, prob: float = 0.94, parameters: Iterable[str] | None = None
    ) -> "pd.DataFrame":
        """Table of the posterior and of how well the chains explored it.

        Warns if the chains disagree or hold few effective draws. R-hat and the
        effective sample size cannot see the bias of a step size that is too large; see
        `ksd` for that.

        Parameters
        ----------
        prob : float, default=0.94
            Probability of the highest density interval.
        parameters : list of str, default=None
            Names of the parameters to show, None for all.

        Returns
        -------
        table : pandas.DataFrame
            One row per parameter: ``mean``, ``sd``, the bounds of the interval
            (``hdi_3%`` and ``hdi_97%`` by default), the probability ``P(>0)`` that it
            is positive, effective sample size ``ess``, ``rhat``, and the Monte Carlo
            error of the mean ``mcse``.

        Examples
        --------
        >>> from skbayes_sg import SGLDLogisticRegression
        >>> from skbayes_sg.datasets import make_logistic
        >>> X, y = make_logistic(1000, 3, random_state=0)
        >>> table = SGLDLogisticRegression(random_state=0).fit(X, y).summary()
        >>> list(table.index)
        ['x0', 'x1', 'x2', 'intercept']
        >>> table.loc["x0", ["mean", "sd", "P(>0)"]].shape
        (3,)
        """
        table = super().summary(prob=prob, parameters=parameters)
        _, columns = self._choose_parameters(parameters)
        positive = self._flat_weights() @ (self._flat_draws()[:, columns] > 0)
        table.insert(4, "P(>0)", positive)
        return table

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
