"""Checks of the draws of a fitted estimator, each with a verdict."""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.inference.checks import check_mixing, check_moments
from skbayes_sg.inference.exploration.region import MAX_DENSE
from skbayes_sg.inference.mixing import MIN_DRAWS
from skbayes_sg.inference.monitoring import MAX_RHAT as MAX_RHAT_OF_MANY
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.inference.scores import posterior_scores
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.protocol.model import has_one_mode, n_rows, theta_of
from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._validation import check_auto, check_integer

if TYPE_CHECKING:
    import pandas as pd

CHECK_ROWS = 1000  # batch size of control variates in check()


class CheckMixin:
    """The method `check` of an estimator with draws in `samples_`."""

    def check(
        self,
        *,
        max_draws: int | None = 4000,
        batch_size: int | str | None = "auto",
        n_jobs: int | None = None,
    ) -> "pd.DataFrame":
        """Table of checks of the draws, each with a verdict.

        The checks tell whether the chains agree, whether the effective sample size is
        large enough, and whether means and standard deviations are those of the
        posterior. The latter use Stein identities: products of draws and of gradients
        of the log posterior have known averages. With 4 chains of 1,000 draws, a
        standard deviation that is 10 % wrong is detected. The checks need the training
        data, which the estimator refers to until it is pickled.

        Parameters
        ----------
        max_draws : int, default=4000
            Largest number of draws at which gradients are computed, evenly spread.
        batch_size : int, None or "auto", default="auto"
            Rows from which to estimate the gradient at each draw, by control variates
            where the posterior has one mode. None takes all rows. "auto" takes 1,000
            rows where there are more than 10,000 and the posterior has one mode, and
            all rows elsewhere.
        n_jobs : int, default=None
            Threads. The result does not depend on it.

        Returns
        -------
        table : pandas.DataFrame
            One row per check: the ``value`` for the ``worst`` parameter, the standard
            ``error`` of that value, the ``limit`` beyond which it fails, and the
            ``verdict``. "R-hat" and "effective draws" are as in `summary`; where
            parameters of different chains mean different things, as weights of networks
            do, they are those of predictions, with a limit of 1.2. "means" are
            errors of posterior means in posterior standard deviations. "sds" are ratios
            of the standard deviations of the draws to those of the posterior, exact if
            the posterior is normal; the limit applies to their distance from 1. The
            next rows check the standard deviations in all directions together, and in
            the direction in which the posterior is narrowest relative to its
            parameters, if that direction is known.

            A verdict is "ok"; "unclear" if an error of twice the limit could go
            unnoticed, so that more draws are needed; or the fault: "chains disagree",
            "too few", "shifted", "too wide", "too narrow". A fault must also be
            significant, given the autocorrelation of the chains and the number of
            parameters. In up to 4 % of good runs a check of moments fails by chance.

        See Also
        --------
        summary : Posterior summaries.
        ksd : Detects errors other than those of means and standard deviations.

        Notes
        -----
        If there are more than 1,024 parameters, 1,024 evenly spread ones are checked.

        Examples
        --------
        >>> import warnings
        >>> from skbayes_sg import SGLDLogisticRegression
        >>> from skbayes_sg.datasets import make_logistic
        >>> X, y = make_logistic(1000, 3, random_state=0)
        >>> model = SGLDLogisticRegression(random_state=0).fit(X, y)
        >>> model.check()["verdict"].unique().tolist()
        ['ok']
        >>> wide = SGLDLogisticRegression(
        ...     sampler="sgld", step_size=1.0, random_state=0
        ... )
        >>> with warnings.catch_warnings(action="ignore"):  # `fit` warns of it, too
        ...     wide = wide.fit(X, y)
        >>> wide.check().loc["sds", "verdict"]
        'too wide'
        """
        check_is_fitted(self)
        with extra("arviz", "check()"):
            import pandas as pd
        check_integer("max_draws", max_draws, at_least=MIN_DRAWS)
        draws, weights, scores = self._scored_chains(max_draws, batch_size, n_jobs)
        d = scores.shape[-1]
        some = np.linspace(0, d - 1, min(d, MAX_DENSE)).round().astype(int)
        covariance = self._whitening_covariance("auto")
        checks = self._mixing_checks(some)
        checks += check_moments(
            self._thetas(draws)[..., some],
            scores[..., some],
            weights=weights,
            covariance=None if covariance is False else covariance,
        )
        names = self._theta_names()
        rows = [
            {
                "value": check.value,
                "error": check.error,
                "limit": check.limit,
                "worst": "" if check.worst is None else names[some[check.worst]],
                "verdict": check.verdict,
            }
            for check in checks
        ]
        index = pd.Index([check.name for check in checks], name="check")
        return pd.DataFrame(rows, index=index)

    def _mixing_checks(self, some):
        """Check parameters, by their indices, or what chains must agree on instead."""
        model, weights = self._model, np.asarray(self.draw_weights_)
        if has_one_mode(model) or not implements(monitored, model):
            return check_mixing(self._thetas(self._draws)[..., some], weights)
        values = monitored(model, self._draws)
        moving = np.ptp(values, axis=(0, 1)) > 0
        checks = check_mixing(values[..., moving], weights, MAX_RHAT_OF_MANY)
        return [check._replace(worst=None) for check in checks]

    def _thetas(self, draws):
        """Return theta of recorded draws, (n_chains, n_draws, n_parameters) float64."""
        flat = draws.reshape(-1, draws.shape[-1])
        thetas = np.array([theta_of(self._model, draw) for draw in flat], np.float64)
        return thetas.reshape(*draws.shape[:2], -1)

    def _scored_chains(self, max_draws, batch_size, n_jobs):
        """Return evenly spread draws of each chain, their weights and their scores."""
        model = getattr(self, "_model", None)
        if model is None:
            raise ValueError(
                "check() needs the training data, which a pickled or copied estimator "
                "does not contain; call it before pickling, or fit again"
            )
        if batch_size is not None:
            check_auto("batch_size", batch_size, check_integer, at_least=1)
        if batch_size == "auto":
            large = n_rows(model) > 10 * CHECK_ROWS and has_one_mode(model)
            batch_size = CHECK_ROWS if large else None
        elif batch_size is not None:
            batch_size = min(batch_size, n_rows(model))
        n_chains, n_draws, width = self._draws.shape
        step = -(-n_chains * n_draws // max_draws)
        draws = self._draws[:, ::step]
        if draws.shape[1] < MIN_DRAWS:
            raise ValueError(
                f"check() needs {MIN_DRAWS} draws of each chain and has "
                f"{draws.shape[1]}; increase n_draws, or max_draws={max_draws}"
            )
        weights = np.asarray(self.draw_weights_)[::step]
        scores = posterior_scores(
            model,
            draws.reshape(-1, width),
            self._score_gradient(batch_size),
            n_jobs=n_jobs,
        )
        return draws, weights / weights.sum(), scores.reshape(*draws.shape[:2], -1)
