"""Topics from streams of documents, each batch of which is used in one step."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._streaming import StreamingMixin
from skbayes_sg.decomposition._documents import check_counts
from skbayes_sg.inference.topic_stream import (
    batch_share,
    documents_of,
    first_flat,
    next_draws,
    weight_products,
)
from skbayes_sg.inference.topics import align_draws, permute
from skbayes_sg.kernels.samplers import Gibbs
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing


class OnDemand:
    """An attribute that is computed from the draws when it is first used.

    Computing it takes about as long as a call of `partial_fit`.
    """

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        if "samples_" not in vars(estimator):
            raise AttributeError(f"{owner.__name__} is not fitted: no {self.name!r}")
        estimator._set_moments()
        return vars(estimator)[self.name]


class TopicStreamMixin(StreamingMixin):
    """Topic models with a `partial_fit`."""

    components_ = OnDemand()
    components_std_ = OnDemand()

    @with_callbacks
    def partial_fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Move the topics of all chains by one step towards those of a batch.

        The counts of a batch are scaled to the number of documents seen so far, or to
        `total_samples` if that is smaller. Documents are not kept, so the memory does
        not grow. The step size, the share of the batch in the counts, decreases with
        every call. Each batch must be a random sample of the stream and should have at
        least some tens of documents. `samples_` holds the draws of the second half of
        all calls, at most `n_draws`. Priors to be learned keep the values of the last
        `fit`, or ``1 / n_components``.

        Intervals and standard deviations count a batch by its weight. They may be too
        narrow after few batches, because topics of the first ones are drawn when little
        is known: `summary()` says so. Use `fit` where it matters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_features)
            Counts of words in a batch of documents.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_parameters()
        with all_or_nothing(self):
            known = vars(self)
            if "samples_" in known and self._n_features_out != self.n_components:
                raise ValueError(
                    f"n_components={self.n_components} cannot be changed from "
                    f"{self._n_features_out} between calls of partial_fit; use clone "
                    "to begin anew"
                )
            last = self._topic_draws().counts[:, -1] if "samples_" in known else None
            X = check_counts(self, X, reset=last is None)
            t, before = known.get("n_batches_", 0), known.get("n_samples_seen_", 0)
            n = X.shape[0]
            seen, total = self._rows_of_batch(n, self.total_samples)
            total = min(seen, total)  # no more certain than what was seen
            model, share = self._build_minibatch(X, total / n), batch_share(n, before)
            growth = total / (known.get("_stands_for", before) or total)
            flat = first_flat(model) if last is None else growth * known.get("_flat", 0)
            draws = next_draws(
                model,
                sampler,
                share,
                last,
                growth=growth,
                flat=flat,
                seed=np.random.SeedSequence([*self._entropy(), t]),
                n_chains=self.n_chains,
                n_jobs=self.n_jobs,
            )
            if t > 0:
                draws = np.hstack([self.samples_, draws])
            self._keep_stream(draws[:, -min(self.n_draws, t // 2 + 1) :])
            self._stands_for, self._flat = total, (1.0 - share) * flat
            products = known.get("_products", np.full((1, 1), 1.0 / max(1, before)))
            if last is None:
                self._products = np.full((1, 1), 1.0 / n)
            else:
                n_kept = self.samples_.shape[1]
                self._products = weight_products(products, n, share, n_kept)
            self._worth = min(1.0, documents_of(self._products) / total)
            self._is_conditional = isinstance(sampler, Gibbs)
            self.doc_topic_prior_, self.topic_word_prior_ = model.alpha, model.beta
            self.n_batches_ = self.n_iter_ = t + 1
            self.n_samples_seen_, self.batch_size_, self.step_size_ = seen, n, share
        return self

    def _keep_stream(self, draws):
        """Keep draws, (n_chains, n, dim), with the same labels in all chains.

        A chain keeps its labels from call to call, so its last draw determines the
        labels of all of them.
        """
        draws = np.ascontiguousarray(draws)
        k, w = self.n_components, self.n_features_in_
        orders, self.affinity_ = align_draws(draws[:, -1:], k, w)
        permute(draws[:, :-1], np.repeat(orders, draws.shape[1] - 1, axis=1), k, w)
        self._set_draws(draws, np.ones(draws.shape[1]))
        for name in ("components_", "components_std_"):
            vars(self).pop(name, None)
