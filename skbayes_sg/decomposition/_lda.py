"""Bayesian topic models: latent Dirichlet allocation."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._sampling import BaseSGMCMC
from skbayes_sg.decomposition._documents import check_counts, check_prior
from skbayes_sg.decomposition._topic_answers import TopicAnswersMixin
from skbayes_sg.inference.topics import (
    align_draws,
    permute,
    tokens_of,
    topic_moments,
)
from skbayes_sg.kernels.models.lda import LDA, list_offsets
from skbayes_sg.kernels.samplers import Gibbs
from skbayes_sg.utils._validation import all_or_nothing, check_integer


class SGMCMCLatentDirichletAllocation(
    TopicAnswersMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseSGMCMC
):
    """Topics of documents, with their uncertainty.

    Latent Dirichlet allocation with the interface of scikit-learn's class. Every token
    has a topic of its own that is kept and drawn again given all others, with the
    topics' words integrated out: every iteration leaves the posterior as it is,
    whatever the minibatch, and there is no step size to choose. What is learnt of words
    and documents averages over draws from all chains, whose topics are matched.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    doc_topic_prior : float, array-like of shape (n_components,), "learn" or None, \
default=None
        Prior alpha of the topics of a document; None is ``1 / n_components``. "learn"
        draws one number for each topic, under a Gamma(1, 1) prior.
    topic_word_prior : float, "learn" or None, default=None
        Prior beta of the words of a topic; None is ``1 / n_components``. "learn" draws
        it under a Gamma(1, 1) prior.
    sampler : Gibbs or None
        None is `skbayes_sg.kernels.samplers.Gibbs`.
    batch_size : int or "auto"
        Documents per iteration, which are visited in turn; "auto" is all of them, or as
        many as have half a million tokens.
    n_draws : int
        Draws kept of each chain; each has ``n_components * n_features`` numbers.
    burn_in : int or "auto"
        Iterations before the first draw; "auto" is 200 sweeps over all documents.
    thin : int or "auto"
        Iterations per draw; "auto" is 10 sweeps.
    keep : {"draws", "variances"}
        "variances" keeps mean and variance of each chain's draws alone, where the
        vocabulary is too large for draws.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Pseudo-counts of words in topics, beta included, averaged over the draws.
        Normalized rows are the topics: laws over the words.
    components_std_ : ndarray of shape (n_components, n_features)
        Posterior standard deviations of the words' probabilities in the topics.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Prior of the documents' topics, its posterior mean if it is learnt.
    topic_word_prior_ : float
        Prior of the topics' words, its posterior mean if it is learnt.
    affinity_ : ndarray of shape (n_chains, n_components)
        How well the topics of each chain match the mean over chains, from 0 to 1: the
        Hellinger affinity. Those below 0.8 or so are not the same topic everywhere.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Draws: pseudo-counts, a row for each topic, which give the law of its words,
        Dirichlet; then the priors of topics and of words.
    moments_ : Moments
        With ``keep="variances"``, in place of `samples_`.

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
    _sampler_kinds = (Gibbs,)
    # Conditional draws have neither steps nor gradients.
    step_size = gradient = "auto"
    preconditioner, schedule = "auto", "constant"
    temperature, noise_correction = 1.0, False

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        sampler=None,
        batch_size="auto",
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
        self.batch_size = batch_size
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
    def fit(self, X, y=None):
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
            model = self._build(X)
            fit = self._sample_posterior(model, sampler)
            self._set_topics()
        return self._finished(fit)

    def _check_parameters(self):
        """Validate the parameters; return the sampler."""
        check_integer("n_components", self.n_components, at_least=1)
        check_prior("doc_topic_prior", self.doc_topic_prior, self.n_components)
        check_prior("topic_word_prior", self.topic_word_prior, None)
        if self.keep == "moments":
            raise ValueError(
                'keep="moments" is not for topics, which have too many correlations; '
                'use "variances" or "draws"'
            )
        return self._check_sampling()

    def _build(self, X):
        """Return the model of counts, CSR."""
        words, indptr = tokens_of(X)
        if words.size == 0:
            raise ValueError("X holds no tokens: all of its documents are empty")
        k = self.n_components
        alpha, beta = self.doc_topic_prior, self.topic_word_prior
        learns = [isinstance(prior, str) for prior in (alpha, beta)]
        alpha = 1.0 / k if alpha is None or learns[0] else alpha
        beta = 1.0 / k if beta is None or learns[1] else beta
        return LDA(
            words=words,
            indptr=indptr,
            offsets=list_offsets(words, X.shape[1], k),
            alpha=np.full(k, alpha, np.float64),
            beta=beta,
            n_topics=k,
            learns_alpha=learns[0],
            learns_beta=learns[1],
        )

    def _last_draws(self):
        """Return the last draws, if the vocabulary and the topics are the same."""
        draws = super()._last_draws()
        size = self.n_components * (self.n_features_in_ + 1) + 1
        return draws if draws is not None and draws.shape[1] == size else None

    def _set_topics(self):
        """Match the topics of all draws, and set what follows from them."""
        k, w = self.n_components, self.n_features_in_
        kept = vars(self).get("moments_")
        if kept is None:
            _, self.affinity_ = align_draws(self.samples_, k, w)
            law = topic_moments(self.samples_, k, w)
        else:
            orders, self.affinity_ = align_draws(kept.mean[:, None], k, w)
            permute(kept.covariance[:, None], orders, k, w)
            law = topic_moments(kept.mean[:, None], k, w, kept.covariance[:, None])
        self.components_, self.components_std_, prior = law
        self.doc_topic_prior_, self.topic_word_prior_ = prior[:-1], float(prior[-1])

    @property
    def _n_features_out(self):
        return len(self.components_)
