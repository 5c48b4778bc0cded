"""Bayesian topic models: latent Dirichlet allocation."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._sampling import BaseSGMCMC
from skbayes_sg.decomposition._documents import check_counts, check_prior, topic_bytes
from skbayes_sg.decomposition._topic_answers import TopicAnswersMixin
from skbayes_sg.decomposition._topic_stream import TopicStreamMixin
from skbayes_sg.inference.topics import (
    align_draws,
    permute,
    tokens_of,
    topic_moments,
)
from skbayes_sg.kernels.models.lda import LDA, list_offsets, n_extra_topics
from skbayes_sg.kernels.models.lda_minibatch import MinibatchLDA
from skbayes_sg.kernels.samplers import SCIR, ConstantMassCIR, ExpandedMean, Gibbs
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_integer,
    check_option,
)

MAX_TOPICS = 10_000  # chains' topics are matched by all pairs


class SGMCMCLatentDirichletAllocation(  # type: ignore[misc]
    TopicAnswersMixin,
    TopicStreamMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseSGMCMC,
):
    """Topics of documents, with their uncertainty.

    This is latent Dirichlet allocation with the interface of scikit-learn's class. The
    topic of every token is kept and drawn again given all others, with the words of
    topics integrated out. Every iteration leaves the posterior invariant for any
    minibatch, and there is no step size to choose. Results for words and documents are
    averages over the draws of all chains, whose topics are matched.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K, at most 10,000.
    doc_topic_prior : float, array-like of shape (n_components,), "learn" or None, \
default=None
        Prior alpha of the topics of a document; None is ``1 / n_components``. "learn"
        draws one number for each topic, under a Gamma(1, 1) prior.
    topic_word_prior : float, "learn" or None, default=None
        Prior beta of the words of a topic; None is ``1 / n_components``. "learn" draws
        it under a Gamma(1, 1) prior.
    sampler : Gibbs, SCIR, ConstantMassCIR, ExpandedMean or None
        From `skbayes_sg.kernels.samplers`. None is `Gibbs`, which remembers the topics
        of all tokens. `SCIR` and `ExpandedMean` (SG-RLD) are known from the literature:
        they only keep the topics and move them by gradients of minibatches, whose noise
        increases posterior variances.
    step_size : float or "auto"
        Step size of all samplers except `Gibbs`; with "auto" variances are too large by
        about a quarter.
    schedule : {"constant", "polynomial", "cyclical"}
        How the step size changes with the iterations.
    gradient : {"auto", "minibatch", "full"}, default="auto"
        Documents of an iteration: "full" reads all of them, the others `batch_size`.
    batch_size : int or "auto"
        Documents per iteration, which `Gibbs` visits in turn; "auto" is all of them, or
        as many as have half a million tokens. For the other samplers it is a twentieth.
    n_draws : int
        Draws kept of each chain; each has ``n_components * n_features`` numbers.
    burn_in : int or "auto"
        Iterations before the first draw; "auto" is 200 sweeps over all documents.
    thin : int or "auto"
        Iterations per draw; "auto" is 10 sweeps.
    total_samples : int or None, default=None
        Number of distinct documents in all calls of `partial_fit`, if documents are
        repeated; None if all are new.
    keep : {"draws", "variances"}
        "variances" only keeps the mean and variance of each chain's draws, for
        vocabularies that are too large for draws.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Pseudo-counts of words in topics, including beta, averaged over the draws. The
        normalized rows are the topics, which are distributions over words.
    components_std_ : ndarray of shape (n_components, n_features)
        Posterior standard deviations of the words' probabilities in the topics.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Prior of the documents' topics, its posterior mean if it is learned.
    topic_word_prior_ : float
        Prior of the topics' words, its posterior mean if it is learned.
    affinity_ : ndarray of shape (n_chains, n_components)
        How well the topics of each chain's draws match the mean of all draws, from 0 to
        1: the Hellinger affinity. Below about 0.8, chains differ in that topic.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Draws: a row for each topic, then the priors of topics and of words. Of `Gibbs`
        rows are pseudo-counts that give the law of the topic's words, Dirichlet; of the
        other samplers they are proportional to drawn topics.
    n_samples_seen_, n_batches_ : int
        Documents of `fit` and all calls of `partial_fit` since, and how many calls.
    moments_ : Moments
        With ``keep="variances"``, instead of `samples_`.

    See Also
    --------
    sklearn.decomposition.LatentDirichletAllocation : Variational inference.

    References
    ----------
    .. [1] D. Blei, A. Ng and M. Jordan (2003). Latent Dirichlet allocation. Journal of
       Machine Learning Research 3.
    .. [2] T. Griffiths and M. Steyvers (2004). Finding scientific topics. PNAS 101.
    .. [3] L. Yao, D. Mimno and A. McCallum (2009). Efficient methods for topic model
       inference on streaming document collections. KDD.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skbayes_sg import SGMCMCLatentDirichletAllocation
    >>> texts = 20 * ["cat dog pet", "dog cat vet", "stock bond rate", "bond stock fee"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> model = SGMCMCLatentDirichletAllocation(2, random_state=0).fit(X)
    >>> weights, std = model.transform(X[:3], return_std=True)
    >>> weights.shape, std.shape
    ((3, 2), (3, 2))
    >>> bool(abs(weights[0] - weights[2]).max() > 0.5)
    True
    """

    _default_sampler = Gibbs()
    _sampler_kinds = (Gibbs, SCIR, ConstantMassCIR, ExpandedMean)
    _is_conditional = True  # draws are pseudo-counts, given the topics of tokens
    _worth = 1.0  # of a pseudo-count, in tokens; less after streams
    # Parameters that only other estimators have.
    preconditioner = "none"
    temperature, noise_correction = 1.0, False

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        sampler=None,
        step_size="auto",
        schedule="constant",
        gradient="auto",
        batch_size="auto",
        total_samples=None,
        n_draws=10,
        burn_in="auto",
        thin="auto",
        n_chains=2,
        storage=None,
        keep="draws",
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.sampler = sampler
        self.step_size = step_size
        self.schedule = schedule
        self.gradient = gradient
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.storage = storage
        self.keep = keep
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # whole numbers
        return tags

    @with_callbacks
    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Draw from the posterior of the topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_features)
            How often each word occurs in each document. Documents may be empty, and
            so may columns, whose words have their prior's probability.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_parameters()
        with all_or_nothing(self):
            X = check_counts(self, X, reset=True)
            for name in ("n_batches_", "_stands_for", "_flat", "_products", "_worth"):
                vars(self).pop(name, None)
            self._is_conditional = isinstance(sampler, Gibbs)
            build = self._build if self._is_conditional else self._build_minibatch
            fit = self._sample_posterior(build(X), sampler)
            self._set_topics()
            self.n_samples_seen_ = X.shape[0]
        return self._finished(fit)

    def memory_needed(self, X: MatrixLike) -> int:
        """Estimate the memory of `fit` in addition to X, which may be memory-mapped.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_features)
            Counts of words.

        Returns
        -------
        n_bytes : int
            For `Gibbs`: of tokens, counts of words in topics, and draws.
        """
        self._check_parameters()
        n_kept = self.n_draws if self.keep == "draws" else 4
        return topic_bytes(X, self.n_components, self.n_chains, n_kept)

    def _check_parameters(self):
        """Validate the parameters; return the sampler."""
        check_integer("n_components", self.n_components, at_least=1)
        check_option("gradient", self.gradient, ("auto", "minibatch", "full"))
        if self.n_components > MAX_TOPICS:
            raise ValueError(
                f"n_components={self.n_components} is more than {MAX_TOPICS} topics; "
                "the topics of all chains are matched, in memory that grows with the "
                "square of their number"
            )
        check_prior("doc_topic_prior", self.doc_topic_prior, self.n_components)
        check_prior("topic_word_prior", self.topic_word_prior, None)
        if self.total_samples is not None:
            check_integer("total_samples", self.total_samples, at_least=1)
        if self.keep == "moments":
            raise ValueError(
                'keep="moments" is not supported for topics, which have too many '
                'correlations; use "variances" or "draws"'
            )
        return self._check_sampling()

    def _build(self, X):
        """Return the model of counts, CSR."""
        words, indptr = tokens_of(X)
        if words.size == 0:
            raise ValueError("X holds no tokens: all of its documents are empty")
        alpha, beta = self._priors()
        n_extra = n_extra_topics(alpha.size)
        return LDA(
            words=words,
            indptr=indptr,
            offsets=list_offsets(words, X.shape[1], alpha.size + n_extra),
            alpha=alpha,
            beta=beta,
            n_topics=alpha.size,
            learns_alpha=isinstance(self.doc_topic_prior, str),
            learns_beta=isinstance(self.topic_word_prior, str),
            n_extra=n_extra,
        )

    def _build_minibatch(self, X, weight=1.0):
        """Return the model for minibatches, which keeps nothing of documents."""
        alpha, beta = self._priors()
        return MinibatchLDA(*tokens_of(X), alpha, beta, X.shape[1], weight)

    def _priors(self):
        """Return alpha, (K,), and beta; if they are learned, their latest values."""
        k, known = self.n_components, vars(self)
        alpha, beta = self.doc_topic_prior, self.topic_word_prior
        if alpha is None or isinstance(alpha, str):
            alpha = known.get("doc_topic_prior_") if alpha == "learn" else None
            alpha = 1.0 / k if alpha is None or len(alpha) != k else alpha
        if beta is None or isinstance(beta, str):
            beta = known.get("topic_word_prior_") if beta == "learn" else None
            beta = 1.0 / k if beta is None else beta
        return np.full(k, alpha, np.float64), float(beta)

    def _last_draws(self):
        """Return the last draws, if the vocabulary and the topics are the same."""
        draws = super()._last_draws()
        size = self.n_components * (self.n_features_in_ + 1) + 1
        return draws if draws is not None and draws.shape[1] == size else None

    def _set_topics(self):
        """Match the topics of all draws, and set the attributes computed from them."""
        k, w = self.n_components, self.n_features_in_
        kept = vars(self).get("moments_")
        if kept is None:
            _, self.affinity_ = align_draws(self.samples_, k, w)
        else:
            orders, self.affinity_ = align_draws(kept.mean[:, None], k, w)
            permute(kept.covariance[:, None], orders, k, w)
        self._set_moments()

    def _set_moments(self):
        """Set what the draws say of the topics and the priors."""
        kept, given = vars(self).get("moments_"), self._is_conditional
        draws = self.samples_ if kept is None else kept.mean[:, None]
        variances = None if kept is None else kept.covariance[:, None]
        k, w = self.affinity_.shape[1], self.n_features_in_
        found = topic_moments(draws, k, w, variances, given, self._worth)
        self.components_, self.components_std_, prior = found
        self.doc_topic_prior_, self.topic_word_prior_ = prior[:-1], float(prior[-1])

    @property
    def _n_features_out(self):
        return self.affinity_.shape[1]
