"""The base class of networks: parameters, the model, and outputs of draws."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayes_sg.base._sampling import BaseSGMCMC, likelihood_weights
from skbayes_sg.base._streaming import StreamingMixin
from skbayes_sg.inference.exploration.mlp import FRICTION
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.mlp import MLP, network_outputs
from skbayes_sg.kernels.models.mlp_layers import ACTIVATIONS
from skbayes_sg.kernels.protocol.model import init_work, n_parameters
from skbayes_sg.kernels.protocol.sampler import least_friction, with_friction
from skbayes_sg.utils._design import design_rows, with_valid_indices
from skbayes_sg.utils._validation import (
    check_integer,
    check_option,
    check_precision,
)

DTYPES = ("float32", "float64")
STORAGE_DTYPES = (None, "float16", *DTYPES)


class Uncertainty(NamedTuple):
    """Uncertainty of predictions, split by its cause; arrays of shape (n_samples,).

    It consists of entropies in nats for classes, and of variances for numbers. More
    data of the same kind reduce the epistemic part, but not the aleatoric part.
    """

    total: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray


class BaseMLP(StreamingMixin, BaseSGMCMC):
    """Base of networks whose weights are posterior draws.

    A subclass defines a likelihood, `_likelihood`, and encodes y for it.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        Units of each hidden layer; ``()`` is a linear model.
    activation : {"relu", "tanh", "softmax"}
        Activation function of the hidden units.
    weight_precision : float or "gamma"
        Precision (inverse variance) of the prior of each weight and bias. "gamma"
        learns one for the weights and one for the biases of each layer, with Gamma(1,
        1) priors.
    gradient : str or gradient estimator
        One of `skbayes_sg.kernels.gradients.GRADIENTS`. Control variates, "cv", are
        centered at the trained weights of one chain, at which all chains then start.
    batch_size : int or "auto"
        Rows per gradient estimate; "auto" is 500, or all rows if there are fewer.
    preconditioner : {"auto", "diagonal", "none"}
        Units in which the weights move. "auto" is diagonal: the unit of a weight
        follows from the information that the data contain on similar weights and from
        the noise of its gradient.
    burn_in : int or "auto"
        Iterations between training and the first draw; "auto" is 50 times the automatic
        `thin`.
    thin : int or "auto"
        Iterations per draw; "auto" is 100, or two epochs if that is more.
    n_chains : int
        Independent chains, which start from different random weights.
    temperature : float
        Temperature T of the likelihood, which is raised to the power of 1 / T; the
        prior is not. At 1 networks for classes tend to be too cautious, see the user
        guide.
    sampler : str, sampler or None
        One of `skbayes_sg.kernels.samplers.SAMPLERS`; None is the default of the class.
        A name uses a friction that suits networks, an instance its own friction.

    Attributes
    ----------
    layer_sizes_ : list of int
        Features, hidden units of each layer, outputs.
    mode_ : ndarray of shape (n_parameters,)
        The trained weights from which the first chain started.
    n_samples_seen_ : int
        Rows of `fit`, or of all calls of `partial_fit`.
    """

    _default_sampler = "baoab"

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        *,
        activation="relu",
        weight_precision="gamma",
        step_size="auto",
        gradient="minibatch",
        batch_size="auto",
        preconditioner="auto",
        n_draws=100,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        temperature=1.0,
        noise_correction=False,
        sampler=None,
        dtype="float32",
        storage=None,
        storage_dtype=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.weight_precision = weight_precision
        self.step_size = step_size
        self.gradient = gradient
        self.batch_size = batch_size
        self.preconditioner = preconditioner
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.schedule = schedule
        self.temperature = temperature
        self.noise_correction = noise_correction
        self.sampler = sampler
        self.dtype = dtype
        self.storage = storage
        self.storage_dtype = storage_dtype
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_network(self):
        """Validate the parameters; return the sampler."""
        sampler = self._check_sampling()
        for size in self._hidden_sizes():
            check_integer("hidden_layer_sizes", size, at_least=1)
        check_option("activation", self.activation, ACTIVATIONS)
        check_option("dtype", self.dtype, DTYPES)
        if self.storage_dtype is not None:
            check_option("storage_dtype", self.storage_dtype, STORAGE_DTYPES[1:])
        if isinstance(self.weight_precision, str):
            check_option("weight_precision", self.weight_precision, ("gamma",))
        else:
            check_precision("weight_precision", self.weight_precision, self.dtype)
        if self.preconditioner == "dense":
            raise ValueError(
                "preconditioner='dense' is not supported for networks, which have too "
                'many weights; use "diagonal" or "none"'
            )
        if self.preconditioner == "none" and self.step_size == "auto":
            raise ValueError(
                "step_size='auto' needs the units of a preconditioner; with "
                'preconditioner="none" it must be a number'
            )
        return sampler

    def _hidden_sizes(self):
        hidden = self.hidden_layer_sizes
        if isinstance(hidden, Iterable) and not isinstance(hidden, str):
            return tuple(hidden)
        return (hidden,)

    def _validate(self, X, *y, reset=True, **options):
        # Overflow in single precision is reported as an error, without a warning.
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(
                self,
                with_valid_indices(X),
                *y,
                accept_sparse="csr",
                accept_large_sparse=False,
                dtype=np.dtype(self.dtype),
                order="C",
                reset=reset,
                **options,
            )

    def _fit_network(self, X, y, weights, n_outputs, sampler, batch=None):
        """Draw from the posterior of the weights; return the `Fit`.

        y is encoded. `batch` is None, or the numbers of rows seen and to scale up to.
        """
        n, hidden = X.shape[0], self._hidden_sizes()
        seen, total = (n, n) if batch is None else batch
        weights = likelihood_weights(weights, self.temperature, n, total / n)
        model = self._build_model(X, y, weights, [X.shape[1], *hidden, n_outputs])
        # A name leaves the friction to us, an instance says its own.
        if self.sampler is None or isinstance(self.sampler, str):
            least = least_friction(sampler, n_parameters(model))
            sampler = with_friction(sampler, max(FRICTION, least))
        if batch is None:
            fit = self._sample_posterior(model, sampler)
        else:
            fit = self._sample_batch(model, sampler, total)
        self.n_samples_seen_ = seen
        self.layer_sizes_ = [int(size) for size in model.sizes]
        return fit

    def _build_model(self, X, y, weights, sizes):
        """Return the network of these layer sizes on encoded data."""
        dtype = np.dtype(self.dtype)
        learns = self.weight_precision == "gamma"
        precision = 1.0 if learns else self.weight_precision
        return for_kernels(
            MLP(
                activation=ACTIVATIONS[self.activation](),
                likelihood=self._likelihood,
                rows=design_rows(X),
                y=np.ascontiguousarray(y, dtype),
                weights=np.ascontiguousarray(weights, dtype),
                sizes=np.array(sizes, np.int64),
                precision=np.full(2 * len(sizes) - 2, precision, dtype),
                learns_precision=learns,
                temperature=self.temperature,
            )
        )

    def _outputs(self, X):
        """Yield outputs of each draw, (n_samples, m_L), its noise and its weight.

        The outputs are overwritten by those of the next draw.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        n_outputs = self.layer_sizes_[-1]
        y = np.empty((0, n_outputs)[: self._y_ndim])
        model = self._build_model(X, y, np.empty(0), self.layer_sizes_)
        work, z = init_work(model), np.empty((X.shape[0], n_outputs), self.dtype)
        noise = slice(
            sum((m + 1) * n for m, n in itertools.pairwise(self.layer_sizes_)),
            n_parameters(model),
        )
        for draw, weight in zip(self._flat_draws(), self._flat_weights(), strict=True):
            theta = draw[: noise.stop].astype(self.dtype)
            network_outputs(model, work, theta, z)
            yield z, theta[noise], weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
