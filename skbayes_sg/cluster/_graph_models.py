"""Models of graphs: from parameters of the estimator to what chains work with."""

import numpy as np

from skbayes_sg.cluster._graphs import check_graph, neighbors
from skbayes_sg.inference.moments import n_buffered
from skbayes_sg.kernels.models.blockmodel import Blockmodel, event_room
from skbayes_sg.kernels.models.blockmodel_degrees import DegreeBlockmodel
from skbayes_sg.kernels.models.blockmodel_pairs import MAX_NODES, PairBlockmodel
from skbayes_sg.kernels.samplers import ExpandedMean
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import check_integer, check_number, check_option

EVENT_BYTES = 44  # of one of the random events without degree correction
AVERAGES = 5  # arrays of the size of a draw, in double precision, to average draws
USUAL_DRAWS, FEWEST_DRAWS = 100, 20  # of each chain, if n_draws="auto"
LARGE = 2**28  # bytes of the draws of all chains, above which there are fewer


class GraphModelMixin:
    """Parameters of blockmodels, and the models that they stand for."""

    def memory_needed(self, X: MatrixLike) -> int:
        """Estimate the memory of `fit` in addition to X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_nodes, n_nodes), graph, or pairs
            As for `fit`.

        Returns
        -------
        n_bytes : int
            For `Gibbs`: of links, memberships, draws, and what computes their means.
        """
        self._check_parameters()
        graph = check_graph(X)
        n, k, n_links = graph.nodes.size, self.n_components, graph.indices.size // 2
        dim = self._n_recorded(n)
        per_chain = 4 * n * k + 36 * n
        if not self._has_activities():
            per_chain += EVENT_BYTES * event_room(n, n_links)
        if self.keep == "draws":
            per_chain += 4 * self._kept_draws(n) * dim
        else:
            per_chain += 16 * dim + 4 * n_buffered(dim) * dim
        return 16 * n_links + 24 * n + AVERAGES * 8 * dim + self.n_chains * per_chain

    def _n_recorded(self, n):
        """Return how many numbers a draw of a graph of n nodes has."""
        size = self.n_components * (n + 2) + 1
        return size + (n + 1) * self._has_activities()

    def _kept_draws(self, n):
        """Return how many draws of each chain are kept."""
        if self.n_draws != "auto":
            return self.n_draws
        if self.keep != "draws" or self.storage is not None:
            return USUAL_DRAWS
        fits = LARGE // (4 * self.n_chains * self._n_recorded(n))
        return min(USUAL_DRAWS, max(FEWEST_DRAWS, fits))

    def _check_parameters(self):
        """Validate the parameters; return the sampler."""
        check_integer("n_components", self.n_components, at_least=1)
        prior = self.membership_prior
        if isinstance(prior, str) and prior != "learn":
            raise ValueError(
                f'membership_prior={prior!r} is not allowed; use "learn" or a number'
            )
        if prior is not None and not isinstance(prior, str):
            check_number("membership_prior", prior, above=0)
        if np.shape(self.link_prior) != (2,):
            raise ValueError(f"link_prior={self.link_prior!r} must be two numbers")
        for value in self.link_prior:
            check_number("link_prior", value, above=0)
        if self.background_rate is not None:
            check_number("background_rate", self.background_rate, above=0)
            if self.background_rate >= 1:
                raise ValueError(
                    f"background_rate={self.background_rate!r} must be less than 1"
                )
        if self.keep == "moments":
            raise ValueError(
                'keep="moments" is not for memberships, which have too many '
                'correlations; use "variances" or "draws"'
            )
        if not (self.degree_correction is True or self.degree_correction is False):
            check_option("degree_correction", self.degree_correction, ("auto",))
        sampler = self._check_sampling()
        if isinstance(sampler, ExpandedMean) and self.degree_correction is True:
            raise ValueError(
                "degree_correction=True is not for ExpandedMean; use sampler=None, or "
                "degree_correction=False"
            )
        return sampler

    def _has_activities(self):
        """Whether nodes have activities."""
        if isinstance(self.degree_correction, str):
            return not isinstance(self.sampler, ExpandedMean)
        return bool(self.degree_correction)

    def _build(self, graph, hidden):
        """Return the model of a graph, (m, 2) `hidden` pairs of which are not known."""
        n, k = graph.nodes.size, self.n_components
        indptr, indices = graph.indptr, graph.indices
        if len(hidden):
            a = np.repeat(np.arange(n), np.diff(indptr))
            keys = np.concatenate([hidden @ [n, 1], hidden @ [1, n]])
            known = ~np.isin(a * np.int64(n) + indices, keys)
            counts = np.bincount(a[known], minlength=n)
            indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            indices = indices[known]
        learns = isinstance(self.membership_prior, str)
        alpha = self.membership_prior
        alpha = 1.0 / k if learns or alpha is None else float(alpha)
        fixed = self.background_rate
        background = (1.0, 1.0) if fixed is None else (fixed, 1.0 - fixed)
        kind = DegreeBlockmodel if self._has_activities() else Blockmodel
        return kind(
            indptr=indptr,
            indices=indices,
            hidden_indptr=(found := neighbors(hidden, n))[0],
            hidden=found[1],
            alpha=np.full(k, alpha),
            link_prior=np.array(self.link_prior, np.float64),
            background_prior=np.array(background),
            learns_background=fixed is None,
            learns_alpha=learns,
        )

    def _of_pairs(self, model):
        """Return the model of minibatches of pairs."""
        if not model.learns_background or model.learns_alpha:
            raise ValueError(
                f"membership_prior={self.membership_prior!r} and background_rate="
                f"{self.background_rate!r} are not for ExpandedMean, which draws the "
                "background rate and no prior; use sampler=None"
            )
        if self.nodes_.size > MAX_NODES:
            raise ValueError(
                f"ExpandedMean takes at most {MAX_NODES} nodes, and the graph has "
                f"{self.nodes_.size}; use sampler=None"
            )
        return PairBlockmodel(*(getattr(model, f) for f in PairBlockmodel._fields))
