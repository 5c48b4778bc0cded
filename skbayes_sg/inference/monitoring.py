"""A cheap look at the draws of a fit, to see whether its chains agree and moved."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.mixing import effective_sample_size, r_hat
from skbayes_sg.kernels.generic import python_op

MAX_COLUMNS = 50  # quantities that are looked at
MIN_DRAWS = 100  # of each chain; R-hat of fewer says little
MAX_RHAT = 1.2  # of so many quantities, the largest of a good fit stays below
MAX_RHAT_OF_FEW = 1.5  # where there are fewer draws than `MIN_TOTAL`
MIN_ESS = 25.0
MIN_TOTAL = 400  # draws of all chains, of which more than `MIN_ESS` must be effective


class Mixing(NamedTuple):
    """What is wrong with the draws."""

    r_hat: float | None  # the largest, None if it is not too large
    ess: float | None  # the smallest, None if it is not too small
    quantity: str = ""  # what was looked at, if not parameters

    @property
    def failed(self) -> bool:
        """Whether the draws should not be used."""
        return self.r_hat is not None or self.ess is not None


@python_op
def monitored(model, draws):
    """Return quantities of recorded draws that chains must agree on.

    `draws` is (n_chains, n_draws, dim), and so is the result but for its last axis. By
    default some parameters, evenly spread; predictions where parameters mean nothing.
    """
    columns = np.linspace(0, draws.shape[-1] - 1, min(MAX_COLUMNS, draws.shape[-1]))
    return draws[..., np.unique(columns.astype(int))].astype(np.float64)


@python_op
def look_at(model, draws) -> Mixing:
    """Judge draws, (n_chains, n_draws, dim), by what the model wants `monitored`.

    Too few draws to judge are not judged. One chain is compared with nothing.
    """
    n_chains, n_draws = draws.shape[:2]
    many = n_chains * n_draws >= MIN_TOTAL
    if n_draws < MIN_DRAWS or not (n_chains > 1 or many):
        return Mixing(None, None)
    values = monitored(model, draws)
    values = values[..., np.ptp(values, axis=(0, 1)) > 0]
    if values.shape[-1] == 0:
        return Mixing(None, None)
    disagreement = float(np.max(r_hat(values))) if n_chains > 1 else 1.0
    limit = MAX_RHAT if many else MAX_RHAT_OF_FEW
    ess = float(np.min(effective_sample_size(values))) if many else np.inf
    return Mixing(
        disagreement if disagreement > limit else None,
        ess if ess < MIN_ESS else None,
    )
