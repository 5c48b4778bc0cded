"""What fitted communities say: of links, and of how far to trust them."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.cluster._graphs import check_links, check_pairs
from skbayes_sg.inference.graphs import GraphDraws, link_moments
from skbayes_sg.inference.mixing import r_hat
from skbayes_sg.inference.monitoring import MAX_RHAT, MIN_DRAWS, monitored
from skbayes_sg.inference.new_nodes import new_memberships
from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._typing import MatrixLike, Predictions
from skbayes_sg.utils._warnings import warn_user

if TYPE_CHECKING:
    import pandas as pd


MIN_AFFINITY = 0.8  # of communities that are the same in all chains


class LinkAnswersMixin:
    """Predictions, scores and tables of graphs with draws of memberships."""

    def predict_link(self, pairs: ArrayLike, return_std: bool = False) -> Predictions:
        """Return the probability that two nodes are linked.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2)
            Pairs of nodes, by the labels of the fit.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        probability : ndarray of shape (n_pairs,)
            Averaged over the draws.
        std : ndarray of shape (n_pairs,)
            Posterior standard deviations of the probability. Only with
            ``return_std=True``.
        """
        check_is_fitted(self)
        if return_std and "samples_" not in vars(self):
            raise ValueError(
                'return_std=True needs draws; fit with keep="draws", not '
                f"keep={self.keep!r}"
            )
        places = check_pairs(self.nodes_, pairs)
        draws = self._graph_draws()
        weights = getattr(self, "draw_weights_", np.ones(1))
        mean, variance = link_moments(draws, weights, places)
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_link_samples(self, pairs: ArrayLike) -> np.ndarray:
        """Return the link probabilities of pairs given each draw.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2)
            Pairs of nodes, by the labels of the fit.

        Returns
        -------
        probabilities : ndarray of shape (n_chains * n_draws, n_pairs)
            For intervals: ``np.quantile(probabilities, [0.05, 0.95], axis=0)``.
        """
        check_is_fitted(self)
        places, draws = check_pairs(self.nodes_, pairs), self._graph_draws()
        every = np.ndindex(draws.background.shape)
        return np.array([draws.probabilities(at, places) for at in every])

    def predict_proba(self, pairs: ArrayLike) -> np.ndarray:
        """Return the probabilities that two nodes are not linked, and that they are.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2)
            Pairs of nodes, by the labels of the fit.

        Returns
        -------
        probabilities : ndarray of shape (n_pairs, 2)
            Averaged over the draws.
        """
        probability = np.asarray(self.predict_link(pairs))
        return np.stack([1.0 - probability, probability], axis=1)

    def transform(self, X: MatrixLike, return_std: bool = False) -> Predictions:
        """Return the memberships of new nodes, by their links to those of the fit.

        Pairs without a link enter by their geometric means, which is exact but for
        link rates near one. Links between new nodes are not considered.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new_nodes, n_nodes)
            Zeros and ones: which of `nodes_` each new node is linked to.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        memberships : ndarray of shape (n_new_nodes, n_components)
            Posterior means; rows sum to one.
        std : ndarray of shape (n_new_nodes, n_components)
            Posterior standard deviations. Only with ``return_std=True``.
        """
        check_is_fitted(self)
        links = check_links(X, self.nodes_.size)
        mean, variance = new_memberships(links, self._graph_draws())
        return (mean, np.sqrt(variance)) if return_std else mean

    def fit_transform(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        exclude: MatrixLike | None = None,
    ) -> np.ndarray:
        """Fit, and return the memberships of the nodes.

        Parameters
        ----------
        X, y, exclude
            As for `fit`.

        Returns
        -------
        memberships : ndarray of shape (n_nodes, n_components)
            `memberships_`.
        """
        return self.fit(X, y, exclude=exclude).memberships_

    def score(self, X: MatrixLike, y: ArrayLike) -> float:
        """Return the mean log probability of links and missing links; more is better.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Pairs of nodes, for instance those of ``fit(..., exclude=X)``.
        y : array-like of shape (n_pairs,)
            Whether they are linked: zeros and ones.

        Returns
        -------
        score : float
            Of probabilities that were averaged over the draws.
        """
        linked = np.asarray(y)
        probability = self.predict_link(X)
        if linked.shape != probability.shape or not np.isin(linked, (0, 1)).all():
            raise ValueError(
                f"y has shape {linked.shape} and must have a zero or a one for each of "
                f"the {probability.size} pairs"
            )
        if probability.size == 0:
            raise ValueError("X has no pairs to score")
        return float(np.log(np.where(linked, probability, 1.0 - probability)).mean())

    def summary(self) -> "pd.DataFrame":
        """Table of the communities, and of how far the chains agree on them.

        Labels mean nothing, so that chains are compared by what does not depend on
        them: how much linked nodes have in common, and the background rate. The largest
        R-hat is in ``attrs["rhat"]`` of the table, NaN for fewer than 100 draws of each
        chain or without the data of the fit. Warns where the chains disagree;
        predictions average over all of them.

        Returns
        -------
        table : pandas.DataFrame
            A row per community, the largest first: ``size``, ``link_rate`` with its
            standard deviation ``sd``, and ``affinity``, the least over chains.
        """
        check_is_fitted(self)
        with extra("arviz", "summary()"):
            import pandas as pd
        affinity = self.affinity_.min(axis=0)
        table = pd.DataFrame(
            {
                "size": self.sizes_,
                "link_rate": self.link_rates_,
                "sd": self.link_rates_std_,
                "affinity": affinity,
            },
            index=pd.RangeIndex(self.sizes_.size, name="community"),
        )
        rhat, model = math.nan, getattr(self, "_model", None)
        if model is not None and "samples_" in vars(self):
            if self.samples_.shape[1] >= MIN_DRAWS:
                with np.errstate(invalid="ignore"):
                    rhat = float(np.nanmax(r_hat(monitored(model, self.samples_))))
        table.attrs["rhat"] = rhat
        used = np.isin(np.arange(self.sizes_.size), self.labels_)
        n_bad = int((affinity[used] < MIN_AFFINITY).sum())
        if n_bad or rhat > MAX_RHAT:
            warn_user(
                f"the chains disagree: {n_bad} of {self.n_used_} communities have an "
                f"affinity below {MIN_AFFINITY}, and the largest R-hat is {rhat:.2f}. "
                "Use a larger burn_in, or fewer communities; trust predict_link(), "
                "which averages over chains, and not single communities",
                ConvergenceWarning,
            )
        return table.sort_values("size", ascending=False)

    def _warn_of_mixing(self, mixing, is_automatic):
        """Warn of communities, but not of links: these are averages over chains."""
        sign = "have moved little" if mixing.r_hat is None else "disagree"
        number = "" if mixing.r_hat is None else f" (R-hat {mixing.r_hat:.2f})"
        warn_user(
            f"the chains {sign}{number}, as those of most networks do: single "
            "communities are uncertain beyond their standard deviations, and summary() "
            "tells which. Trust predict_link(), which averages over chains; more "
            "n_chains make it better. A larger burn_in or fewer communities may help",
            ConvergenceWarning,
        )

    @property
    def ksd(self) -> float | tuple[float, float]:
        """Not for graphs, whose conditional draws have no gradients to compare with."""
        raise AttributeError(
            f"{type(self).__name__} has neither ksd() nor check(): they compare draws "
            "with gradients of the log posterior, of which graphs have none; see "
            "summary() and score()"
        )

    check = ksd

    def _graph_draws(self):
        """Return the draws, or the means of chains whose draws are not kept."""
        kept = vars(self).get("moments_")
        draws = self.samples_ if kept is None else kept.mean[:, None]
        return GraphDraws.of(draws, self.nodes_.size, self.sizes_.size)
