"""Results of fitted topic models: weights of documents, perplexity, words, tables."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import check_probability
from skbayes_sg.decomposition._documents import check_counts
from skbayes_sg.inference.topic_agreement import label_free, split_rhat
from skbayes_sg.inference.topics import (
    TopicDraws,
    completion_log_probability,
    document_moments,
    log_bound,
    word_probabilities,
)
from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._typing import MatrixLike, Predictions
from skbayes_sg.utils._validation import check_integer, check_option
from skbayes_sg.utils._warnings import warn_user

if TYPE_CHECKING:
    import pandas as pd


MIN_AFFINITY = 0.8  # of topics that are considered the same in all chains
MAX_RHAT = 1.1
BISECTIONS = 50  # to compute a quantile
ENOUGH_BATCHES = 30  # of a stream, for intervals that are about right


class TopicAnswersMixin:
    """Transforms, scores and tables of topic models with draws of pseudo-counts."""

    def transform(self, X: MatrixLike, return_std: bool = False) -> Predictions:
        """Return the weights of the topics in each document.

        Weights are averaged over the draws of the topics and, for each draw, over Gibbs
        draws of the topics of the document's tokens. Equal documents have equal
        weights, since the random numbers are the same in every call. Empty documents
        have the weights of the prior.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_features)
            Counts of words. They may include words that did not occur in `fit`.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        weights : ndarray of shape (n_documents, n_components)
            Posterior means; rows sum to one.
        std : ndarray of shape (n_documents, n_components)
            Posterior standard deviations. Only with ``return_std=True``.
        """
        check_is_fitted(self)
        X = check_counts(self, X, reset=False)
        mean, variance = document_moments(X, self._topic_draws(), self.n_jobs)
        return (mean, np.sqrt(variance)) if return_std else mean

    def perplexity(self, X: MatrixLike, method: str = "completion") -> float:
        """Return the perplexity of documents under the model; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_features)
            Counts of words, of documents that were not fitted.
        method : {"completion", "bound"}, default="completion"
            "completion" predicts a random half of each document's tokens from the
            other half, with probabilities averaged over the draws. It can be compared
            between models of any kind; see
            :func:`skbayes_sg.metrics.completion_perplexity`. "bound" is what
            scikit-learn computes, from a variational lower bound of the documents' log
            probability given the mean topics. It overestimates the perplexity by an
            unknown amount that grows with the number of topics.

        Returns
        -------
        perplexity : float
            The exponential of minus the mean log probability of a token.
        """
        check_option("method", method, ("completion", "bound"))
        check_is_fitted(self)
        X = check_counts(self, X, reset=False)
        if method == "completion":
            draws = self._topic_draws()
            value, n = completion_log_probability(X, draws, n_jobs=self.n_jobs)
        else:
            phi = word_probabilities(self.components_)
            value, n = log_bound(X, phi, self.doc_topic_prior_), X.data.sum()
        if n == 0:
            raise ValueError(
                "X has too few tokens to be predicted; "
                'method="completion" needs documents of two or more'
            )
        return math.exp(-value / float(n))

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """Return the mean log probability of a token; higher is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_features)
            Counts of words, of documents that were not fitted.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Minus the logarithm of the completion perplexity. Scikit-learn's class
            returns the sum of a lower bound, which depends on the number of documents.
        """
        return -math.log(self.perplexity(X))

    def top_words(
        self, n: int = 10, *, prob: float = 0.9, feature_names: ArrayLike | None = None
    ) -> "pd.DataFrame":
        """Return the most probable words of each topic, with their probabilities.

        Parameters
        ----------
        n : int, default=10
            Words per topic.
        prob : float, default=0.9
            Probability of the intervals, which have equal tails.
        feature_names : array-like of shape (n_features,), default=None
            The words, for instance from ``CountVectorizer.get_feature_names_out()``.
            None uses the column names of the fit, or the numbers of the columns.

        Returns
        -------
        table : Bunch
            Arrays of shape (n_components, n): ``words``, and their probabilities
            ``mean``, ``std``, ``low`` and ``high``.
        """
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        check_probability(prob)
        w = self.n_features_in_
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", np.arange(w))
        names = np.asarray(feature_names)
        if names.shape != (w,):
            raise ValueError(
                f"feature_names has shape {names.shape}; there are n_features={w} words"
            )
        phi = self.components_ / self.components_.sum(axis=1, keepdims=True)
        best = np.argsort(-phi, axis=1, kind="stable")[:, : min(n, w)]
        low, high = self._quantiles(best, 0.5 - 0.5 * prob, 0.5 + 0.5 * prob)
        return Bunch(
            words=names[best],
            mean=np.take_along_axis(phi, best, axis=1),
            std=np.take_along_axis(self.components_std_, best, axis=1),
            low=low,
            high=high,
        )

    def summary(
        self,
        X: MatrixLike | None = None,
        *,
        n_words: int = 8,
        feature_names: ArrayLike | None = None,
    ) -> "pd.DataFrame":
        """Table of the topics, and of how far the chains agree on them.

        Labels mean nothing, so that chains are compared by what does not depend on
        them, whose R-hats are in ``attrs["rhat"]`` of the table. Warns where the chains
        disagree in one of these or in their topics, as they often do where there are
        more topics than the data tell apart; predictions average over all of them.
        Warns of intervals after few batches of a stream, too.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_features), default=None
            Counts of words of documents that were not fitted, to compare the chains by
            how well they predict these.
        n_words : int, default=8
            Words to show of each topic.
        feature_names : array-like of shape (n_features,), default=None
            As for `top_words`.

        Returns
        -------
        table : pandas.DataFrame
            A row per topic: ``share`` of all tokens with its standard deviation ``sd``,
            ``affinity``, the least over chains, and ``words``. ``attrs["rhat"]`` has
            R-hats of "log p(w | z)", of "co-occurrence", the largest over pairs of
            frequent words of the probability that two tokens with the same topic are
            these, and, with documents, of "held-out log p". It is empty where there
            are fewer than four draws of each chain.
        """
        check_is_fitted(self)
        with extra("arviz", "summary()"):
            import pandas as pd
        draws = self._topic_draws()
        sizes = draws.counts.sum(axis=-1, dtype=np.float64)
        shares = sizes / sizes.sum(axis=-1, keepdims=True)
        words = self.top_words(n_words, feature_names=feature_names).words
        affinity = self.affinity_.min(axis=0)
        table = pd.DataFrame(
            {
                "share": shares.mean(axis=(0, 1)),
                "sd": shares.std(axis=(0, 1)),
                "affinity": affinity,
                "words": [" ".join(map(str, row)) for row in words],
            },
            index=pd.RangeIndex(len(words), name="topic"),
        )
        found = {}
        if "samples_" in vars(self) and self.samples_.shape[1] >= 4:
            X = None if X is None else check_counts(self, X, reset=False)
            beta, given = self.samples_[..., -1], self._is_conditional
            values = label_free(draws, beta, given, X, self.n_jobs)
            found = {name: split_rhat(value) for name, value in values.items()}
        table.attrs["rhat"] = {name: rhat for name, (rhat, _) in found.items()}
        n_batches = getattr(self, "n_batches_", None)
        if n_batches is not None and n_batches < ENOUGH_BATCHES:
            warn_user(
                f"the topics are those of {n_batches} batches of a stream: the first "
                "ones, drawn when little was known, still count, and intervals are too "
                f"narrow. Use {ENOUGH_BATCHES} batches or more, or fit()",
                ConvergenceWarning,
            )
        n_bad = int((affinity < MIN_AFFINITY).sum())
        if n_bad or any(rhat > max(MAX_RHAT, limit) for rhat, limit in found.values()):
            rhats = ", ".join(f"{r:.2f} of {name}" for name, (r, _) in found.items())
            warn_user(
                f"the chains disagree: {n_bad} of {len(words)} topics have an affinity "
                f"below {MIN_AFFINITY}, and R-hats are {rhats or 'unknown'}. "
                "Use a larger burn_in, or fewer topics; trust transform() and "
                "perplexity(), which average over chains, and not single topics",
                ConvergenceWarning,
            )
        return table

    @property
    def ksd(self) -> float | tuple[float, float]:
        """Not available for topics, whose conditional draws have no gradients."""
        raise AttributeError(
            f"{type(self).__name__} has neither ksd() nor check(): they compare draws "
            "with gradients of the log posterior, of which topics have none; see "
            "summary() and perplexity()"
        )

    check = ksd

    def _topic_draws(self):
        """Return the draws, or the means of chains whose draws are not kept."""
        kept = vars(self).get("moments_")
        draws = self.samples_ if kept is None else kept.mean[:, None]
        return TopicDraws.of(draws, self.affinity_.shape[1], self.n_features_in_)

    def _quantiles(self, columns, *levels):
        """Return quantiles of probabilities of some words of each topic, (K, n) each.

        Given pseudo-counts they have Beta distributions, whose mixture over draws is
        inverted by bisection.
        """
        counts = self._topic_draws().counts
        total = counts.sum(axis=-1, dtype=np.float64)[..., None]
        own = np.take_along_axis(counts, columns[None, None], axis=-1)
        own, total = self._worth * own.astype(np.float64), self._worth * total
        if not self._is_conditional:
            yield from np.quantile(own / total, levels, axis=(0, 1))
            return
        for level in levels:
            low, high = np.zeros(columns.shape), np.ones(columns.shape)
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                below = betainc(own, total - own, middle).mean(axis=(0, 1)) < level
                low = np.where(below, middle, low)
                high = np.where(below, high, middle)
            yield high
