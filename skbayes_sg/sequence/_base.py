"""What estimators of sequences share: checks of X and lengths, and blocked fits."""

import numpy as np
from sklearn.utils.validation import validate_data

from skbayes_sg.base._sampling import BaseSGMCMC
from skbayes_sg.inference.fitting import computed_once
from skbayes_sg.inference.identities import identity
from skbayes_sg.inference.sequences import block_at_mode, sequence_lengths
from skbayes_sg.kernels.capabilities.buffers import blocks_of, with_blocks
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.utils._validation import check_auto, check_integer, largest_of


def check_lengths(lengths, n_samples):
    """Return the lengths of sequences that make up `n_samples` points, (n,) int64."""
    if lengths is None:
        return np.array([n_samples], np.int64)
    values = np.atleast_1d(np.asarray(lengths))
    if values.ndim != 1 or values.dtype.kind not in "iu" or values.size == 0:
        raise ValueError(
            f"lengths={lengths!r} must be whole numbers, the lengths of the sequences "
            "that follow one another in X, or None for one sequence"
        )
    if (values < 1).any():
        raise ValueError(
            f"lengths holds {values.min()}; all sequences need at least one point"
        )
    if values.sum() != n_samples:
        raise ValueError(
            f"lengths add up to {values.sum()}, but X has {n_samples} points; they "
            "must be equal"
        )
    return values.astype(np.int64)


def check_observations(estimator, X, *, reset, names="numbers"):
    """Return X as a C-ordered array of floats, in which NaN means missing.

    Memory-mapped arrays in this order are not copied. With `reset` there have to be two
    points, and a number in every column.
    """
    X = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=(np.float64, np.float32),
        order="C",
        ensure_all_finite="allow-nan",
        ensure_min_samples=2 if reset else 1,
    )
    largest = 0.0
    known = np.zeros(X.shape[1], bool)
    for part in np.array_split(X, max(1, len(X) // 1_000_000)):
        known |= ~np.isnan(part).all(axis=0)
        largest = max(largest, float(np.fmax.reduce(np.abs(part), axis=None)))
    if reset and not known.all():
        raise ValueError(
            f"column {int(np.argmin(known))} of X has no number, only NaN (missing); "
            f"remove the column, or give {names} for some points"
        )
    if largest > largest_of(np.float64):
        raise ValueError(
            f"X holds values up to {largest:.3g}, too large for float64; scale the "
            "columns"
        )
    return X


def column_moments(X):
    """Return means and variances of the numbers in each column of X, (p,) each.

    A constant column is an error.
    """
    n, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    parts = np.array_split(X, max(1, len(X) // 1_000_000))
    for part in parts:
        n += np.sum(~np.isnan(part), axis=0)
        total += np.nansum(part, axis=0, dtype=np.float64)
    mean = total / n
    square = sum(np.nansum((part - mean) ** 2, axis=0) for part in parts)
    variance = square / n
    constant = variance <= 1e-20 * mean**2
    if constant.any():
        raise ValueError(
            f"column {int(np.argmax(constant))} of X is constant, so its variance has "
            "no scale; remove the column"
        )
    return mean, variance


def check_distinct(X, n_components):
    """Raise a ValueError if X has fewer distinct points than there are states."""
    for part in (X[:10_000], X):  # a few points suffice almost always
        n = len(np.unique(part, axis=0))
        if n >= n_components:
            return
    raise ValueError(
        f"n_components={n_components} states need as many distinct points, but X has "
        f"{n} distinct points; use fewer states"
    )


class BaseSequences(BaseSGMCMC):
    """Base of estimators of sequences.

    Parameters
    ----------
    block_length : int or "auto"
        Points per block; a block is a row of a minibatch, so that `batch_size` counts
        blocks. "auto" is four times the buffer length and at least 40; more where a
        table of the blocks would need over a gigabyte.
    buffer_length : int or "auto"
        Points on both sides of a block from which its states are inferred. "auto"
        chooses it so that the bias is below 0.02 posterior standard deviations.
    gradient : str or gradient estimator
        "auto" is "linear-cv": blocks' gradients are linear functions of the parameters
        plus a small remainder, which a minibatch of blocks estimates.
    batch_size : int or "auto"
        Blocks per gradient estimate.

    Attributes
    ----------
    block_length_, buffer_length_ : int
        Points per block, and on both sides of it.
    buffer_bias_ : float
        The bias that windows of this length cause, in posterior standard deviations,
        measured against exact gradients at draws around the mode.
    """

    temperature = 1.0

    def _store(self, values):
        """Set the parameters of the constructor from its local variables."""
        for name in self._get_param_names():
            setattr(self, name, values[name])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_sampling(self):
        """Validate the parameters that all estimators share; return the sampler."""
        check_auto("block_length", self.block_length, check_integer, at_least=1)
        check_auto("buffer_length", self.buffer_length, check_integer, at_least=0)
        return super()._check_sampling()

    def _block_settings(self, lengths):
        """Return the lengths of blocks and buffers to be used, or "auto"."""
        return self.block_length, self.buffer_length

    def _block_at_mode(self, model, start, seed):
        """Block the model around its mode; return it with messages, for sampling.

        `model` has constrained parameters, and `start` returns the posterior in free
        ones, and those from which the mode is found. The chains of a warm start
        continue with the same blocks if the data are the same.
        """
        settings = self._block_settings(sequence_lengths(model))
        last = vars(self).get("_fit") if self.warm_start else None
        if last is not None and vars(self).get("_blocked_by") == settings:
            before = with_blocks(last.model.model, blocks_of(model))
            if identity(before) == identity(for_kernels(model)):
                return last.model
        found = computed_once(
            "blocked", lambda: block_at_mode(*start(), *settings, seed)
        )
        self._blocked_by = settings
        self.block_length_ = found.block_length
        self.buffer_length_ = found.buffer_length
        self.buffer_bias_ = found.buffer_bias
        return found.model
