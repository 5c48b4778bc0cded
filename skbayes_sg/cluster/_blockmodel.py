"""Overlapping communities of graphs by the mixed-membership stochastic blockmodel."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._sampling import BaseSGMCMC
from skbayes_sg.cluster._graph_models import GraphModelMixin
from skbayes_sg.cluster._graphs import check_graph, check_pairs
from skbayes_sg.cluster._link_answers import LinkAnswersMixin
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.graphs import GraphDraws, align_draws, chain_scores
from skbayes_sg.kernels.models.blockmodel import Blockmodel, event_room
from skbayes_sg.kernels.samplers import ExpandedMean, Gibbs
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing


class SGMCMCMixedMembershipBlockmodel(  # type: ignore[misc]
    GraphModelMixin,
    LinkAnswersMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    BaseSGMCMC,
):
    """Overlapping communities of a graph, with the uncertainty of who belongs to which.

    Every node has memberships pi_a of the communities, which sum to one, and an
    activity rho_a; every community has a rate L_k of links. Two nodes are linked with
    probability ``1 - exp(-rho_a rho_b (L_0 + sum_k pi_ak pi_bk (L_k - L_0)))``
    (degree-corrected, [3]_), or without activities ``delta + sum_k pi_ak pi_bk
    (beta_k - delta)`` ([1]_ and [2]_). For undirected graphs whose links have no
    weights; directed and bipartite graphs are not supported.

    The default sampler sweeps over the nodes and draws the memberships of each from
    their conditional law: all links are read, and pairs without a link enter by sums
    over communities. Hence no step size or minibatch biases the draws, and a sweep
    costs as much as there are links.

    Parameters
    ----------
    n_components : int, default=10
        Number of communities K. Some stay empty where there are fewer.
    membership_prior : float, "learn" or None, default=None
        Dirichlet prior of the memberships; None is ``1 / n_components``, a small number
        prefers few communities per node. "learn" draws it under a Gamma(1, 1) prior.
    degree_correction : bool or "auto", default="auto"
        Whether nodes have activities, which tells nodes with many links from those with
        few in the same community. "auto" is True except for `ExpandedMean`. It has
        predicted links better on all networks tried, and sweeps are faster.
    link_prior : tuple of two floats, default=(1.0, 1.0)
        Beta prior of the link rates beta_k: a prior number of links and of missing
        ones. With activities, the Gamma prior of L_k = -log(1 - beta_k), shape and
        rate, which is the same if the first number is one.
    background_rate : float or None, default=None
        Probability delta of a link between nodes of different communities. None draws
        it under a uniform prior.
    sampler : Gibbs, ExpandedMean or None
        From `skbayes_sg.kernels.samplers`. None is `Gibbs`. `ExpandedMean` is the
        SG-RLD of [2]_, with minibatches of links and of pairs without one: for
        comparison, it is slower by far and biased.
    step_size : float or "auto"
        Of `ExpandedMean` alone.
    schedule : {"constant", "polynomial", "cyclical"}
        How the step size changes with the iterations.
    batch_size : int or "auto"
        Nodes per iteration, visited in turn; of `ExpandedMean`, pairs of nodes.
    n_draws : int or "auto"
        Draws kept of each chain; each has ``n_nodes * n_components`` numbers. "auto" is
        100, or as few as 20 where those of all chains would take more than 256 MiB.
    burn_in : int or "auto"
        Iterations before the first draw; "auto" is 100 sweeps over all nodes.
    thin : int or "auto"
        Iterations per draw; "auto" is one sweep on large graphs, up to 5 on small ones
        or for fewer than 100 draws.
    keep : {"draws", "variances"}
        "variances" keeps mean and variance of each chain's draws alone, for graphs of
        millions of nodes, and predicts links by the means, which orders pairs with
        little in common better.

    Attributes
    ----------
    memberships_, memberships_std_ : ndarray of shape (n_nodes, n_components)
        Posterior means and standard deviations; rows of the means sum to one.
    labels_ : ndarray of shape (n_nodes,)
        The community of the largest membership of each node.
    activity_, activity_std_ : ndarray of shape (n_nodes,)
        With degree correction, posterior means and standard deviations of the
        activities of the nodes; those of all nodes have a prior mean of one.
    activity_shape_ : float
        With degree correction, posterior mean of the shape of their Gamma law: the
        larger, the more alike they are.
    link_rates_, link_rates_std_ : ndarray of shape (n_components,)
        Probabilities of links inside of the communities, of nodes with activity one.
    background_rate_ : float
        Probability of a link between communities, its posterior mean.
    membership_prior_ : float
        The prior of the memberships, its posterior mean if it is learned.
    sizes_ : ndarray of shape (n_components,)
        Sums of the memberships: how many nodes a community has.
    n_used_ : int
        Communities to which some node belongs more than to any other.
    affinity_ : ndarray of shape (n_chains, n_components)
        How well the communities of each chain's draws match the mean of all draws, from
        0 to 1: the Hellinger affinity. That of empty communities means nothing.
    chain_scores_ : ndarray of shape (n_chains,)
        Log likelihood of the graph, per link, of the draws of each chain. Chains are
        restarts: each begins at communities of its own choice, and one that ends far
        below the others has found worse ones.
    nodes_ : ndarray of shape (n_nodes,)
        Labels of the nodes, in the order of all other arrays.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Draws: a row of memberships for each node, the link rates, the background rate,
        the prior of each community and, with degree correction, the activities and the
        shape of their law.
    moments_ : Moments
        With ``keep="variances"``, in place of `samples_`.

    References
    ----------
    .. [1] E. Airoldi, D. Blei, S. Fienberg and E. Xing (2008). Mixed membership
       stochastic blockmodels. Journal of Machine Learning Research 9.
    .. [2] W. Li, S. Ahn and M. Welling (2016). Scalable MCMC for mixed membership
       stochastic blockmodels. AISTATS.
    .. [3] M. Zhou (2015). Infinite edge partition models for overlapping community
       detection and link prediction. AISTATS.

    Examples
    --------
    >>> from skbayes_sg import SGMCMCMixedMembershipBlockmodel
    >>> from skbayes_sg.datasets import make_graph
    >>> graph = make_graph(100, 3, link_rates=0.5, random_state=0)
    >>> model = SGMCMCMixedMembershipBlockmodel(3, random_state=0)
    >>> model.fit(graph.adjacency).memberships_.shape
    (100, 3)
    >>> probability, std = model.predict_link([[0, 1], [0, 2]], return_std=True)
    >>> probability.shape, std.shape
    ((2,), (2,))
    """

    _default_sampler = Gibbs()
    _sampler_kinds = (Gibbs, ExpandedMean)
    # Parameters of other estimators.
    _automatic = ("n_draws",)
    gradient, preconditioner = "minibatch", "none"
    temperature, noise_correction = 1.0, False

    def __init__(
        self,
        n_components=10,
        *,
        membership_prior=None,
        degree_correction="auto",
        link_prior=(1.0, 1.0),
        background_rate=None,
        sampler=None,
        step_size="auto",
        schedule="constant",
        batch_size="auto",
        n_draws="auto",
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
        self.membership_prior = membership_prior
        self.degree_correction = degree_correction
        self.link_prior = link_prior
        self.background_rate = background_rate
        self.sampler = sampler
        self.step_size = step_size
        self.schedule = schedule
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
        tags.input_tags.pairwise = True
        return tags

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        exclude: MatrixLike | None = None,
    ) -> Self:
        """Draw from the posterior of memberships and rates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_nodes, n_nodes), graph, or pairs
            The graph: a symmetric matrix of zeros and ones without a diagonal; a
            graph of networkx, whose attributes such as weights are ignored; or an array
            of shape (n_links, 2) of linked nodes, whose labels can be sorted. Numbers
            of shape (2, 2) are a matrix. Nodes without links belong wherever the prior
            and their missing links put them.
        y : None
            Ignored.
        exclude : array-like of shape (n_pairs, 2), default=None
            Pairs of nodes of which is not known whether they are linked, whatever X
            says, for instance those held out to score predictions.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_parameters()
        with all_or_nothing(self):
            graph = check_graph(X)
            hidden = () if exclude is None else exclude
            hidden = check_pairs(graph.nodes, hidden, name="exclude")
            self.nodes_, self.n_features_in_ = graph.nodes, graph.nodes.size
            self._decided = {"n_draws": self._kept_draws(graph.nodes.size)}
            model = self._build(graph, hidden)
            if isinstance(sampler, ExpandedMean):
                model = self._of_pairs(model)
            try:
                fit = self._sample_posterior(model, sampler)
            except DivergenceError as error:
                if not isinstance(model, Blockmodel):
                    raise
                room = event_room(graph.nodes.size, model.indices.size // 2)
                raise ArithmeticError(
                    "a chain has not converged: it needs more than the "
                    f"{room} random events that a graph of this size can have; use "
                    "degree_correction=True, which needs none"
                ) from error
            self._set_communities()
            self.chain_scores_ = chain_scores(model, self._graph_draws())
        return self._finished(fit)

    def fit_predict(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        exclude: MatrixLike | None = None,
    ) -> np.ndarray:
        """Fit, and return the community of the largest membership of each node.

        Parameters
        ----------
        X, y, exclude
            As for `fit`.

        Returns
        -------
        labels : ndarray of shape (n_nodes,)
            `labels_`.
        """
        return self.fit(X, y, exclude=exclude).labels_

    def _last_draws(self):
        """Return the last draws, if the graph has as many nodes and communities."""
        draws = super()._last_draws()
        size = self._n_recorded(self.nodes_.size)
        return draws if draws is not None and draws.shape[1] == size else None

    def _set_communities(self):
        """Match the communities of all draws, and set what follows from them."""
        n, k = self.nodes_.size, self.n_components
        kept = vars(self).get("moments_")
        if kept is None:
            self.affinity_ = align_draws(self.samples_, n, k)
            weighted = list(zip(self._flat_weights(), self._flat_draws(), strict=True))
            mean = sum(w * draw.astype(np.float64) for w, draw in weighted)
            square = sum(w * (draw - mean) ** 2 for w, draw in weighted)
        else:
            means, variances = kept.mean[:, None], kept.covariance[:, None]
            self.affinity_ = align_draws(means, n, k, variances)
            mean = kept.mean.mean(axis=0, dtype=np.float64)
            square = kept.covariance.mean(axis=0) + kept.mean.var(axis=0)
        mean = GraphDraws.of(mean[None, None], n, k)
        std = GraphDraws.of(np.sqrt(square)[None, None], n, k)
        self.memberships_ = mean.memberships[0, 0]
        self.memberships_ /= self.memberships_.sum(axis=1, keepdims=True)
        self.memberships_std_ = std.memberships[0, 0]
        self.link_rates_ = mean.link_rates[0, 0]
        self.link_rates_std_ = std.link_rates[0, 0]
        self.background_rate_ = float(mean.background[0, 0])
        self.membership_prior_ = float(mean.prior.mean())
        for name in ("activity_", "activity_std_", "activity_shape_"):
            vars(self).pop(name, None)
        if mean.activity.size:
            self.activity_shape_ = float(mean.activity_shape[0, 0, 0])
            self.activity_ = mean.activity[0, 0]
            self.activity_std_ = std.activity[0, 0]
        self.labels_ = self.memberships_.argmax(axis=1)
        self.sizes_ = self.memberships_.sum(axis=0)
        self.n_used_ = int(np.unique(self.labels_).size)

    @property
    def _n_features_out(self):
        return self.n_components
