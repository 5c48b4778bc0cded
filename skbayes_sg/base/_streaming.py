"""`partial_fit` of all estimators: chains that are given one batch of data at a time.

All estimators follow the same contract. The likelihood of the rows of a call is scaled
up to the number of rows seen so far, or to `total_samples` rows. Each call makes `thin`
iterations of each chain with these rows as the minibatch, and keeps one draw.
`samples_` holds the draws of the last `n_draws` calls. The posterior is explored in the
first call, and again whenever the number of rows has doubled.
"""

import numpy as np

from skbayes_sg.inference.fitting import fit_batch
from skbayes_sg.kernels.protocol.sampler import takes_estimates
from skbayes_sg.kernels.samplers import SAMPLERS
from skbayes_sg.utils._validation import check_integer


def takes_batches(estimator):
    """Whether the sampler accepts gradients of batches; Metropolis samplers do not."""
    sampler = estimator.sampler
    if isinstance(sampler, str):
        sampler = SAMPLERS[sampler]() if sampler in SAMPLERS else None
    return sampler is None or takes_estimates(sampler)


class StreamingMixin:
    """Estimators with a `partial_fit`."""

    def _rows_of_batch(self, n, total_samples):
        """Return the number of rows seen so far, and the number to scale up to."""
        if self.keep != "draws":
            raise ValueError(
                f"keep={self.keep!r} is not supported by partial_fit, which keeps the "
                'draws of its last n_draws calls; use keep="draws"'
            )
        if self.noise_correction:
            raise ValueError(
                "noise_correction=True is not supported by partial_fit, which uses "
                "each batch once; use fit, or noise_correction=False"
            )
        if total_samples is not None:
            check_integer("total_samples", total_samples, at_least=1)
        seen = n + vars(self).get("n_samples_seen_", 0)
        return seen, max(n, seen if total_samples is None else total_samples)

    def _sample_batch(self, model, sampler, total):
        """Advance the chains on a batch whose likelihood is scaled to `total` rows."""
        last, start = vars(self).get("_fit"), None
        if last is not None and last.total is None:
            last = None
        if "samples_" in vars(self):
            start = self.samples_[:, -1]
        with self._job(sampler) as job:
            fit = fit_batch(model, job, total, last, start)
        draws, steps = fit.draws, fit.info.step_sizes
        if last is not None and fit.total == last.total:
            draws = np.concatenate([self.samples_, draws], axis=1)
            steps = np.append(self._stream_steps, steps)
        else:
            self._warn_of_unstable_steps(fit)
        self._stream_steps = steps[-self.n_draws :]
        self._set_learned(fit, draws[:, -self.n_draws :], self._stream_steps)
        return fit
