"""The estimator of models of the user's own."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._sampling import BaseSGMCMC
from skbayes_sg.custom._columns import check_columns, check_weights
from skbayes_sg.custom._graphs import python_function
from skbayes_sg.custom._model import BaseModel, unpack
from skbayes_sg.custom._predictions import PredictionsMixin
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing


class SGMCMCModel(PredictionsMixin, BaseSGMCMC):
    """Posterior of a model of your own, by stochastic-gradient MCMC.

    Gradients come from automatic differentiation, compiled once and kept on disk. The
    chains run on minibatches with control variates around the center of the posterior.

    Parameters
    ----------
    model : Model
        A :class:`~skbayes_sg.Model`, or what :func:`~skbayes_sg.from_pymc` returns.
    gradient : str or gradient estimator
        One of `skbayes_sg.kernels.gradients.GRADIENTS`. "auto" is "taylor-cv", an
        expansion about the center by Hessian-vector products, or "weighted-cv" where
        the posterior is skewed, or the full gradient where that is cheaper.
    preconditioner : {"auto", "dense", "diagonal", "none"}
        Coordinates of the sampler, from the Hessian at the center; "auto" is dense up
        to 1,024 parameters, diagonal beyond.

    Attributes
    ----------
    samples_ : dict of ndarray
        Posterior draws of each parameter by its name, within its space, of shape
        (n_chains, n_draws, *shape).
    mode_ : ndarray of shape (n_parameters,)
        The posterior mode, or the center of its best Gaussian approximation with
        independent coordinates, in free coordinates.
    n_features_in_ : int
        Width of the column X, where the model has one.

    See Also
    --------
    Model : Log-likelihood, prior and spaces.
    from_pymc : A PyMC model.

    Examples
    --------
    >>> import numpy as np
    >>> import pytensor.tensor as pt
    >>> from skbayes_sg import Model, Positive, Real, SGMCMCModel
    >>> def log_likelihood(mu, sigma, y):
    ...     return -pt.log(sigma) - 0.5 * ((y - mu) / sigma) ** 2
    >>> def log_prior(mu, sigma):
    ...     return -0.5 * (mu / 10) ** 2 - sigma
    >>> model = Model(log_likelihood, log_prior, mu=Real(), sigma=Positive())
    >>> y = np.random.default_rng(0).normal(3.0, 2.0, 2000)
    >>> est = SGMCMCModel(model, random_state=0).fit(y=y)
    >>> est.samples_["sigma"].shape
    (4, 1000)
    >>> bool(abs(est.samples_["mu"].mean() - y.mean()) < 0.02)
    True
    """

    storage = None  # draws by name are made in memory

    def __init__(
        self,
        model,
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
        sampler=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.model = model
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
        self.sampler = sampler
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        **columns: Any,
    ) -> Self:
        """Draw from the posterior given data.

        Parameters
        ----------
        X, y : array-like of n rows, default=None
            The columns of these names, where the model has them.
        sample_weight : array-like of shape (n,), default=None
            Factors of the rows' log-likelihoods.
        **columns : array-like of n rows
            All other columns of the model. A model of PyMC brings its own.

        Returns
        -------
        self : SGMCMCModel
            Fitted estimator.
        """
        with all_or_nothing(self):
            sampler = self._check_sampling()
            if not isinstance(self.model, BaseModel):
                raise TypeError(
                    f"model={self.model!r} is no model; write one with Model(...), or "
                    "bring one with from_pymc(...)"
                )
            arrays = self._columns_of(columns | {"X": X, "y": y}, "fit")
            first = next(iter(arrays.values()))
            weights = check_weights(sample_weight, first)
            model = self.model.posterior(arrays, weights / self.temperature)
            fit = self._sample_posterior(model, sampler)
            vars(self).pop("n_features_in_", None)
            if "X" in arrays and arrays["X"].ndim == 2:
                self.n_features_in_ = arrays["X"].shape[1]
            return self._finished(fit)

    def _columns_of(self, columns, method, names=None):
        """Return the columns that a method needs, after a check."""
        given = {name: each for name, each in columns.items() if each is not None}
        self.model._refuse_unknown(given)
        names = self.model.column_names if names is None else names
        return check_columns(names, self.model._with_own(given), method)

    def _set_draws(self, draws, step_sizes):
        self._recorded, self._parameters = draws, self.model.parameters
        self.draw_weights_ = step_sizes / step_sizes.sum()

    @property
    def samples_(self) -> dict[str, np.ndarray]:
        """Draws by name."""
        if "_recorded" not in vars(self):
            raise AttributeError("SGMCMCModel has no samples_ before it is fitted")
        return unpack(self._recorded, self._parameters)

    @property
    def _draws(self):
        return self._recorded

    def _last_draws(self):
        if self.warm_start and "_recorded" in vars(self):
            return self._recorded[:, -1]
        return None

    def score(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        **columns: Any,
    ) -> float:
        """Return the mean log predictive density of rows.

        Parameters
        ----------
        X, y : array-like of n rows, default=None
            The columns of these names, where the model has them.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows in the mean.
        **columns : array-like of n rows
            All other columns of the model.

        Returns
        -------
        score : float
            The average over rows of the log of the mean density over draws.
        """
        check_is_fitted(self)
        arrays = self._columns_of(columns | {"X": X, "y": y}, "score")
        program = self.model.checked_program(arrays)
        inputs = [program.theta, *program.columns.values()]
        rows = python_function(inputs, program.log_likelihood)
        values = [rows(theta, *arrays.values()) for theta in self._some_thetas()]
        densities = logsumexp(values, axis=0) - np.log(len(values))
        return float(np.average(densities, weights=sample_weight))

    def to_arviz(self) -> Any:  # type: ignore[override]
        """Return the draws as ArviZ takes them, by name.

        Returns
        -------
        data : xarray.DataTree
            An ``arviz.InferenceData`` for models of PyMC 5, which takes nothing newer.
            The group ``posterior`` has a variable for each parameter, with the dims and
            coords of the model; ``weight`` of the group ``sample_stats`` the weights of
            the draws in averages, all equal unless the step size varied.
        """
        check_is_fitted(self)
        weight = np.broadcast_to(self.draw_weights_, self._recorded.shape[:2])
        named = {n: p.dims for n, p in self._parameters.items() if p.dims is not None}
        return self.model.arviz_of(
            {"posterior": self.samples_, "sample_stats": {"weight": weight}},
            coords={name: list(labels) for name, labels in self.model.coords.items()},
            dims={name: list(dims) for name, dims in named.items()},
        )

    def _parameter_names(self):
        names = []
        for name, each in self._parameters.items():
            for place in np.ndindex(each.shape):
                names.append(f"{name}[{', '.join(map(str, place))}]" if place else name)
        return names

    def _theta_names(self):
        names = self._parameter_names()
        if self._recorded.shape[-1] == len(names):
            return names
        return [f"free[{j}]" for j in range(self._recorded.shape[-1] - len(names))]
