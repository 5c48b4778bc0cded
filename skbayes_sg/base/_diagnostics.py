"""Diagnostics that tell whether the draws of a fitted estimator can be trusted."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._arviz import ArvizMixin
from skbayes_sg.base._checking import CheckMixin
from skbayes_sg.base._warnings import warn_of_convergence
from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.inference.exploration.region import MAX_DENSE
from skbayes_sg.inference.fitting import computed_once
from skbayes_sg.inference.mixing import MIN_DRAWS, r_hat
from skbayes_sg.inference.scores import posterior_scores
from skbayes_sg.kernels.capabilities.curvature import add_hessian
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.passes import hessian
from skbayes_sg.kernels.protocol.model import (
    has_one_mode,
    n_parameters,
    n_rows,
    theta_of,
)
from skbayes_sg.metrics import kernel_stein_discrepancy
from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._validation import (
    check_integer,
    check_number,
    shown,
)

if TYPE_CHECKING:
    import pandas as pd


MAX_ESS_PARAMETERS = 100  # parameters whose ESS a search computes, evenly spread


class DiagnosticsMixin(CheckMixin, ArvizMixin):
    """Diagnostics of an estimator with draws in `samples_`."""

    def ksd(
        self,
        *,
        max_draws: int | None = 1000,
        standardize: bool | str = "auto",
        batch_size: int | None = None,
        n_jobs: int | None = None,
        **options: Any,
    ) -> float | tuple[float, ...]:
        """Kernel Stein discrepancy between the draws and the posterior.

        Unlike R-hat and the effective sample size, it detects the bias caused by a step
        size that is too large and by gradient noise. It needs the training data, which
        the estimator refers to until it is pickled.

        Parameters
        ----------
        max_draws : int, default=1000
            Largest number of draws to use. They are spread evenly over all chains, in
            proportion to the weights of the draws if the step size varied.
        standardize : "auto", bool or array-like of shape (dim, dim), default="auto"
            Covariance by which draws are whitened, see
            :func:`~skbayes_sg.metrics.kernel_stein_discrepancy`. "auto" uses the
            inverse curvature at the mode, which is the same for all draws of one
            posterior. Draws are not whitened if the model does not implement its
            curvature or has more than 1,024 parameters.
        batch_size : int, default=None
            Rows from which to estimate the gradient at each draw, by control variates
            where the posterior has one mode. None takes all rows.
        n_jobs : int, default=None
            Threads. The result does not depend on it.
        **options : dict
            `c`, `beta`, `form`, `statistic` and `return_floor` of
            :func:`~skbayes_sg.metrics.kernel_stein_discrepancy`. With `batch_size`,
            ``statistic="u"`` is not biased by the noise of the gradients.

        Returns
        -------
        ksd : float
            The discrepancy.
        floor : float
            The discrepancy expected of as many independent draws from the posterior.
            Only with ``return_floor=True``.

        Examples
        --------
        >>> from skbayes_sg import SGLDLogisticRegression
        >>> from skbayes_sg.datasets import make_logistic
        >>> X, y = make_logistic(1000, 3, random_state=0)
        >>> model = SGLDLogisticRegression(random_state=0).fit(X, y)
        >>> ksd, floor = model.ksd(return_floor=True)
        >>> ksd < 1.5 * floor
        True
        """
        check_is_fitted(self)
        check_integer("max_draws", max_draws, at_least=2)
        model = getattr(self, "_model", None)
        if model is None:
            raise ValueError(
                "ksd() needs the training data, which a pickled or copied estimator "
                "does not contain; call it before pickling, or fit again"
            )
        if batch_size is not None:
            check_integer("batch_size", batch_size, at_least=1)
            batch_size = min(batch_size, n_rows(model))
        chosen = self._representative_draws(max_draws)
        scores = posterior_scores(
            model, chosen, self._score_gradient(batch_size), n_jobs=n_jobs
        )
        if isinstance(standardize, str):
            standardize = self._whitening_covariance(standardize)
        thetas = np.stack([theta_of(model, draw) for draw in chosen])
        return kernel_stein_discrepancy(
            thetas, scores, standardize=standardize, n_jobs=n_jobs, **options
        )

    def summary(
        self, *, prob: float = 0.94, parameters: Iterable[str] | None = None
    ) -> "pd.DataFrame":
        """Table of posterior summaries and convergence diagnostics.

        Warns if the chains disagree or the effective sample size is small. R-hat of one
        chain compares its halves. Neither detects the bias of a step size that is too
        large; `ksd` and `check` do.

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
            (``hdi_3%`` and ``hdi_97%`` by default), effective sample size ``ess``,
            ``rhat``, and the Monte Carlo error of the mean ``mcse``.

        Examples
        --------
        >>> from skbayes_sg import SGLDLogisticRegression
        >>> from skbayes_sg.datasets import make_logistic
        >>> X, y = make_logistic(1000, 3, random_state=0)
        >>> table = SGLDLogisticRegression(random_state=0).fit(X, y).summary()
        >>> list(table.index)
        ['x0', 'x1', 'x2', 'intercept']
        >>> table.loc["x0", ["mean", "sd"]].shape
        (2,)
        """
        check_is_fitted(self)
        table = self._table(parameters, prob)
        names = table.index.tolist()
        ess, rhat = table["ess"].to_numpy(), table["rhat"].to_numpy()
        warn_of_convergence(names, ess, rhat)
        return table

    def _table(self, parameters, prob):
        """Return the table of `summary` for some parameters, or all."""
        check_probability(prob)
        names, columns = self._choose_parameters(parameters)
        return self._summary_table(names, self._draws[..., columns], prob)

    def _summary_table(self, names, draws, prob):
        """Return the table of `summary` for draws of anything, (C, n, len(names))."""
        with extra("arviz", "summary()"):
            import pandas as pd
            from arviz_stats.base import array_stats
        draws = draws.astype(np.float64)
        weights = np.asarray(self.draw_weights_)
        mean = np.einsum("d,cdj->j", weights, draws) / len(draws)
        variance = np.einsum("d,cdj->j", weights, (draws - mean) ** 2) / len(draws)
        every = draws.reshape(-1, draws.shape[-1])
        every = every[self._representative_indices(len(every))]
        interval = array_stats.hdi(every, prob, axis=0)
        # Unequal weights reduce the effective sample size by this factor (Kish, 1965).
        spread = weights.size * np.sum(weights**2)
        axes = {"chain_axis": 0, "draw_axis": 1}
        with np.errstate(invalid="ignore", divide="ignore"):
            ess = array_stats.ess(draws, **axes) / spread
            rhat = _r_hat(draws)
            mcse = array_stats.mcse(draws, **axes) * np.sqrt(spread)
        tail = 50 * (1 - prob)
        return pd.DataFrame(
            {
                "mean": mean,
                "sd": np.sqrt(variance),
                f"hdi_{tail:g}%": interval[:, 0],
                f"hdi_{100 - tail:g}%": interval[:, 1],
                "ess": np.round(ess),
                "rhat": np.round(rhat, 3),
                "mcse": mcse,
            },
            index=pd.Index(names, name="parameter"),
        )

    def _parameter_names(self):
        """Return a name for each column of a draw; estimators override this."""
        return [f"theta[{j}]" for j in range(self.samples_.shape[-1])]

    def _theta_names(self):
        """Return a name for each number of theta, which is what chains move."""
        return self._parameter_names()

    def _choose_parameters(self, parameters):
        """Return names and columns of the parameters asked for by name."""
        names = list(self._parameter_names())
        if parameters is None:
            return names, np.arange(len(names))
        column = {name: j for j, name in enumerate(names)}
        unknown = [name for name in parameters if name not in column]
        if unknown:
            raise ValueError(
                f"parameters={list(parameters)!r} has no {unknown[0]!r}; the names are "
                f"{names[:10]!r}{' and so on' if len(names) > 10 else ''}"
            )
        if not list(parameters):
            raise ValueError("parameters=[] names none; use None for all of them")
        return list(parameters), np.array([column[name] for name in parameters], int)

    def _representative_draws(self, count):
        """Return at most `count` draws, (count, dim), in proportion to their weights.

        These are all draws in order if `count` is large enough and all weights equal.
        """
        return self._flat_draws()[self._representative_indices(count)]

    def _representative_indices(self, count):
        weights = self._flat_weights()
        count = min(count, len(weights))
        # The small offset prevents rounding errors from breaking ties at random.
        levels = (np.arange(count) + 0.5 + 1e-6) / count
        return np.searchsorted(np.cumsum(weights), levels)

    def _score_gradient(self, batch_size):
        """Return the gradient estimator for `batch_size` rows, None for all rows."""
        if batch_size is None:
            return None
        if has_one_mode(self._model):
            return ControlVariate(batch_size, self.mode_)
        return Minibatch(batch_size)

    def _whitening_covariance(self, standardize):
        if standardize != "auto":
            raise ValueError(
                f'standardize={standardize!r} is not allowed; use "auto", True, False '
                "or a covariance matrix"
            )
        model = self._model
        is_known = implements(add_hessian, model) or implements(hessian, model)
        if n_parameters(model) > MAX_DENSE or not is_known:
            return False

        def covariance():
            root = whitening(curvature_matrix(model, self.mode_))
            return root @ root.T

        return computed_once("covariance", covariance)


def _r_hat(draws):
    """Return R-hat of each parameter; that of one chain compares its halves."""
    if len(draws) == 1 and draws.shape[1] >= MIN_DRAWS:
        return r_hat(draws)
    from arviz_stats.base import array_stats

    return array_stats.rhat(draws, chain_axis=0, draw_axis=1)


def check_probability(prob, name="prob"):
    """Raise an error unless `prob` is strictly between 0 and 1."""
    check_number(name, prob, above=0)
    if prob >= 1:
        raise ValueError(f"{name}={shown(prob)} is not allowed; it must be less than 1")


def smallest_ess(draws):
    """Return the smallest effective sample size of any parameter; NaN without ArviZ.

    If there are many parameters, it is that of `MAX_ESS_PARAMETERS` evenly spread ones.
    """
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        return np.nan
    step = -(-draws.shape[-1] // MAX_ESS_PARAMETERS)
    some = draws[..., ::step].astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.min(array_stats.ess(some, chain_axis=0, draw_axis=1)))


def last_step(estimator):
    """Return the estimator at the end of a pipeline, and the prefix of its parameters.

    An estimator that is not a pipeline is returned itself, with an empty prefix. Raises
    a TypeError if the estimator does not sample.
    """
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    if not isinstance(estimator, DiagnosticsMixin):
        raise TypeError(
            f"{estimator!r} draws no samples; an estimator of skbayes_sg is needed, or "
            "a Pipeline that ends in one"
        )
    return estimator, prefix
