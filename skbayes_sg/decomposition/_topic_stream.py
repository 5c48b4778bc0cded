"""Topics from streams of documents, each batch of which is used in one step."""

import math

import numpy as np

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.decomposition._documents import check_counts
from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.exploration.lda import random_topics
from skbayes_sg.kernels.gradients import InTurn
from skbayes_sg.kernels.protocol.model import theta_of
from skbayes_sg.kernels.samplers import SCIR, ConstantMassCIR, ExpandedMean
from skbayes_sg.utils._validation import all_or_nothing

OFFSET, DECAY = 10.0, 0.7  # batch t has the weight (OFFSET + t)^-DECAY in the topics


class TopicStreamMixin:
    """Topic models with a `partial_fit`."""

    @with_callbacks
    def partial_fit(self, X, y=None):
        """Move the topics of all chains by one step towards those of a batch.

        The likelihood of a batch is scaled up to `total_samples` documents, or to all
        documents seen so far. Documents are not kept, so that memory does not grow.
        Step sizes decrease from call to call, so that draws approach the posterior, but
        never as closely as those of `fit`, which visits documents repeatedly. Batches
        must be random samples of the stream. `samples_` holds one draw of the topics
        for each of the last `n_draws` calls. Priors that are learned stay at the values
        that `fit` has found, or at ``1 / n_components``.

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
        if not isinstance(sampler, ConstantMassCIR | ExpandedMean):
            sampler = SCIR()  # Gibbs would have to keep the topics of all tokens
        with all_or_nothing(self):
            known = vars(self)
            first = "samples_" not in known
            X = check_counts(self, X, reset=first)
            t = known.get("n_batches_", 0)
            seen = known.get("n_samples_seen_", 0) + X.shape[0]
            share = seen if self.total_samples is None else self.total_samples
            model = self._build_minibatch(X, max(1.0, share / X.shape[0]))
            share = (OFFSET + t) ** -DECAY
            h = -2.0 * math.log1p(-share)
            seed = np.random.SeedSequence([*self._entropy(), t])
            if first:
                rng = np.random.default_rng(seed.spawn(1)[0])
                start = random_topics(model, self.n_chains, rng)
            else:
                last = self.samples_[:, -1]
                start = np.stack([theta_of(model, draw) for draw in last])
            draws = sample(
                model,
                sampler,
                InTurn(X.shape[0]),
                step_size=h,
                n_draws=1,
                n_chains=len(start),
                start=start,
                scale=np.full(start.shape[1], 1.0 + start.max()),
                n_jobs=self.n_jobs,
                random_state=seed,
            )
            if not (first or t == 0):
                draws = np.concatenate([self.samples_, draws], axis=1)
            draws = draws[:, -self.n_draws :]
            self._set_draws(draws, np.ones(draws.shape[1]))
            self.n_batches_ = self.n_iter_ = t + 1
            self.n_samples_seen_, self.batch_size_ = seen, X.shape[0]
            self.step_size_, self._is_conditional = h, False
            self._set_topics()
        return self
