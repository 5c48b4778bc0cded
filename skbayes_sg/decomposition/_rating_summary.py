"""The table of a recommender's draws, and what it warns of."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import DiagnosticsMixin
from skbayes_sg.inference.mixing import MIN_DRAWS, standard_error
from skbayes_sg.kernels.models.matrix_factorization_draws import rating_means
from skbayes_sg.utils._warnings import warn_user

if TYPE_CHECKING:
    import pandas as pd

N_RATINGS = 50  # whose predictions are looked at
MAX_MEAN_ERROR = 0.1  # of a mean rating, in standard deviations of a rating
MAX_NOISE_ERROR = 0.02  # of the noise's standard deviation, relative


class RatingSummaryMixin(DiagnosticsMixin):
    """`summary` of an estimator with the draws of `RatingPredictionMixin`."""

    def summary(
        self, *, prob: float = 0.94, parameters: Iterable[str] | None = None
    ) -> "pd.DataFrame":
        """Table of the posterior and of how well the chains explored it.

        Factors turn from draw to draw, and another way in every chain, so that their
        averages mean nothing and their chains never agree. By default only the noise
        is shown, which does not turn, and a warning is given if the Monte Carlo errors
        of typical predictions are too large: more than a tenth of the standard
        deviation of a rating for its mean, or 2 % for the noise in it. Single noise
        precisions may have a larger R-hat, which predictions do not depend on.

        Parameters
        ----------
        prob : float, default=0.94
            Probability of the highest density interval.
        parameters : list of str, default=None
            Names of the parameters to show, None for the precisions of the noise.

        Returns
        -------
        table : pandas.DataFrame
            One row per parameter: ``mean``, ``sd``, the bounds of the interval
            (``hdi_3%`` and ``hdi_97%`` by default), effective sample size ``ess``,
            ``rhat``, and the Monte Carlo error of the mean ``mcse``.
        """
        check_is_fitted(self)
        if parameters is not None:
            return super().summary(prob=prob, parameters=parameters)
        names, layout = self._parameter_names(), self._layout
        first = names.index("noise precision")
        learned = [first] * isinstance(self.noise_precision, str)
        if layout.dof and self.noise_dof is not None:
            learned += range(first + 1, first + 1 + sum(self._ratings.sizes[:2]))
        if not learned:
            raise ValueError(
                "parameters=None shows the noise, which was not learned; name "
                f"those to show, such as {names[layout.n_factors]!r}"
            )
        table = self._table([names[k] for k in learned], prob)
        self._warn_of_predictions()
        return table

    def _warn_of_predictions(self):
        """Warn if Monte Carlo errors of typical predictions are too large."""
        n_chains, n_draws = self.samples_.shape[:2]
        if np.isnan(self._ratings.y).any():  # a pickle of an earlier version
            return
        if n_draws < MIN_DRAWS:
            _warn(f"{n_draws} draws do not tell the errors of means and of the noise")
            return
        draws, n = self._factors(), len(self._ratings.y)
        some = self._ratings.part(np.linspace(0, n - 1, min(n, N_RATINGS)).astype(int))
        users, items = some.pairs[:, :2].T
        own = draws.noise[:, 1:].astype(np.float64)
        sds = (draws.noise[:, :1] * own[:, users] * own[:, items]) ** -0.5
        means = rating_means(draws.rows, some.pairs, some.values, draws.n_factors)
        chains = (n_chains, n_draws, len(users))
        errors = [np.median(standard_error(x.reshape(chains))) for x in (means, sds)]
        has_noise = self.feedback == "ratings"
        sd = np.sqrt(np.median(means.var(axis=0) + has_noise * sds.mean(axis=0) ** 2))
        signs = []
        if not errors[0] <= MAX_MEAN_ERROR * sd:
            signs.append(f"{errors[0] / sd:.0%} for the mean of a rating")
        if not errors[1] <= MAX_NOISE_ERROR * np.median(sds):
            signs.append(f"{errors[1] / np.median(sds):.1%} for its noise")
        if signs:
            error = "typical Monte Carlo errors, relative to the standard deviation"
            _warn(f"{error}, are {' and '.join(signs)}")

    def _parameter_names(self):
        layout = self._layout
        labels = [own.tolist() for own in self._labels]
        entries = [*range(layout.n_factors)]
        entries += ["bias"] * (layout.width - layout.n_factors)
        letters = ["U", "V", *[f"W{c}" for c in range(2, len(labels))]]
        sides = list(zip(letters, labels, strict=True))
        names = [f"{z}[{k},{f}]" for z, own in sides for k in own for f in entries]
        kinds = ("mean", "precision")
        names += [f"{k} of {z}[{f}]" for z, _ in sides for k in kinds for f in entries]
        names += ["noise precision"]
        names += [f"noise of {z}[{label}]" for z, own in sides for label in own]
        for side, (z, _) in enumerate(sides[:2]):
            links = [f"feature {k}" for k in range(layout.n_features[side])]
            if layout.has_sets:
                links += [f"member {label} of the set" for label in labels[1 - side]]
            names += [f"{link} of {z}[{f}]" for link in links for f in entries]
        return names


def _warn(sign):
    warn_user(
        f"The chains have not converged: {sign}. Increase n_draws or thin.",
        ConvergenceWarning,
    )
