"""The base class of networks: parameters, the model, and outputs of draws."""

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayes_sg.base._diagnostics import check_probability
from skbayes_sg.base._sampling import BaseSGMCMC, likelihood_weights
from skbayes_sg.base._streaming import StreamingMixin
from skbayes_sg.inference.exploration import for_diagnostics
from skbayes_sg.inference.exploration.mlp_agreement import (
    MAX_RHAT,
    predictions_of,
    predictive_r_hat,
)
from skbayes_sg.inference.exploration.mlp_features import standardization
from skbayes_sg.inference.exploration.mlp_prior import learned_prior, scaled_precision
from skbayes_sg.inference.exploration.mlp_temperature import USUAL
from skbayes_sg.inference.exploration.mlp_units import pace
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.mlp import AS_THEY_ARE, MLP, network_outputs
from skbayes_sg.kernels.models.mlp_layers import ACTIVATIONS
from skbayes_sg.kernels.models.mlp_prior import part_size
from skbayes_sg.kernels.protocol.model import init_work, n_parameters
from skbayes_sg.kernels.protocol.sampler import least_friction, with_friction
from skbayes_sg.utils._design import design_rows, with_valid_indices
from skbayes_sg.utils._validation import (
    check_integer,
    check_option,
    check_precision,
)
from skbayes_sg.utils._warnings import warn_user

if TYPE_CHECKING:
    import pandas as pd

DTYPES = ("float32", "float64")
STORAGE_DTYPES = (None, "float16", *DTYPES)
PRIORS = ("fan-in", "hierarchical", "relevance", "gamma")
SHOWN_PREDICTIONS = 10  # of training rows, in a summary


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
    weight_precision : {"fan-in", "hierarchical", "relevance", "gamma"} or float
        Precision (inverse variance) of the prior of each weight and bias. "fan-in"
        scales it to the data and the sizes of layers (features of very different sizes
        are standardized first, see `X_scale_`): weights let inputs of hidden
        units vary with variance 2 and outputs with variance 3. "hierarchical" learns
        one for the weights and one for the biases of each layer, with Gamma priors
        around those of "fan-in" that keep it from collapsing. "relevance" also learns
        one for each feature (automatic relevance determination). "gamma" learns one for
        the weights and one for the biases of each layer, with Gamma(1, 1) priors that
        know nothing of the data.
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
        `thin`, and more if chains had to be continued.
    thin : int or "auto"
        Iterations per draw; "auto" is 100, or two epochs if that is more. If `burn_in`
        is "auto" too, chains that disagree on predictions of training rows are
        continued with 4 times as many, and again until they agree, unless that would
        take more than about two minutes of one core.
    n_chains : int
        Independent chains, which start from different random weights.
    temperature : float or "auto"
        Temperature T of the likelihood, which is raised to the power of 1 / T; the
        prior is not. At 1 networks for classes tend to be too cautious, see the user
        guide. "auto", for classes only, chooses one of 1, 0.3, 0.1, 0.03 and 0.01 by
        cross-validation of short chains, which costs up to half of a fit. It is 0.1 in
        `partial_fit`, and if the chains are too short for a comparison.
    sampler : str, sampler or None
        One of `skbayes_sg.kernels.samplers.SAMPLERS`; None is the default of the class.
        A name uses a friction that suits networks, an instance its own friction.

    Attributes
    ----------
    layer_sizes_ : list of int
        Features, hidden units of each layer, outputs.
    mode_ : ndarray of shape (n_parameters,)
        The trained weights from which the first chain started.
    temperature_ : float
        The temperature used.
    X_mean_, X_scale_ : ndarray of shape (n_features,)
        Centers and sizes by which features are standardized on their way into the
        network, or empty arrays if they are used as they are.
    r_hat_ : float
        R-hat of predictions, its 95 % point over training rows (see the user guide);
        NaN if there is one chain or if there are fewer than 50 draws.
    n_samples_seen_ : int
        Rows of `fit`, or of all calls of `partial_fit`.
    """

    _default_sampler = "baoab"
    X_mean_ = X_scale_ = AS_THEY_ARE  # of files of version 0.1.0, which had none

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        *,
        activation="relu",
        weight_precision="fan-in",
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
            check_option("weight_precision", self.weight_precision, PRIORS)
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
        temperature = self.temperature
        if temperature == "auto":  # zero stands for one that is still to be chosen
            temperature = 0.0 if batch is None else USUAL
        weights = likelihood_weights(weights, temperature or 1.0, n, total / n)
        model = self._build_model(X, y, weights, [X.shape[1], *hidden, n_outputs])
        model = model._replace(temperature=temperature)
        model = self._with_prior(model, batch is not None)
        # A name leaves the friction to us, an instance says its own.
        if self.sampler is None or isinstance(self.sampler, str):
            least = least_friction(sampler, n_parameters(model))
            friction = pace(model.likelihood).friction
            sampler = with_friction(sampler, max(friction, least))
        if batch is None:
            fit = self._sample_posterior(model, sampler)
        else:
            fit = self._sample_batch(model, sampler, total)
        self.n_samples_seen_ = seen
        self.layer_sizes_ = [int(size) for size in model.sizes]
        self._model = for_diagnostics(fit.found.model)
        self.temperature_ = float(fit.found.model.temperature)
        self.r_hat_ = np.nan
        if batch is None:
            self.r_hat_ = predictive_r_hat(fit.found.model, fit.draws)
        return fit

    def _with_prior(self, model, is_batch):
        """Return the model with its prior; that of a stream is that of the first batch.

        Exact draws of the noise need all rows.
        """
        name, parts = self.weight_precision, range(model.precision.size)
        if is_batch and "_prior" in vars(self) and hasattr(self, "samples_"):
            prior = self._prior
        elif isinstance(name, str) and name != "gamma":
            center, size = standardization(model.rows)
            model = for_kernels(model._replace(center=center, size=size))
            precision = scaled_precision(model)
            prior = {"precision": precision.astype(model.precision.dtype)}
            prior |= {"center": center, "size": size}
            if model.learns_precision:
                sizes = [part_size(model, part) for part in parts]
                prior["shape"], prior["rate"] = learned_prior(precision, sizes)
        else:
            prior = {}
        self._prior = prior
        self.X_mean_ = prior.get("center", AS_THEY_ARE)
        self.X_scale_ = prior.get("size", AS_THEY_ARE)
        return for_kernels(model._replace(**prior, draws_noise=not is_batch))

    def _build_model(self, X, y, weights, sizes):
        """Return the network of these layer sizes on encoded data."""
        dtype, kind = np.dtype(self.dtype), self.weight_precision
        precision = 1.0 if isinstance(kind, str) else kind
        by_input = isinstance(kind, str) and kind == "relevance"
        n_parts = 2 * len(sizes) - 2 + (sizes[0] - 1 if by_input else 0)
        return for_kernels(
            MLP(
                activation=ACTIVATIONS[self.activation](),
                likelihood=self._likelihood,
                rows=design_rows(X),
                y=np.ascontiguousarray(y, dtype),
                weights=np.ascontiguousarray(weights, dtype),
                sizes=np.array(sizes, np.int64),
                precision=np.full(n_parts, precision, dtype),
                learns_precision=isinstance(kind, str) and kind != "fan-in",
                by_input=by_input,
            )
        )

    def _outputs(self, X, draws=None):
        """Yield outputs of each draw, (n_samples, m_L), its noise and its weight.

        `draws` are all by default. The outputs are overwritten by those of the next
        draw.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        n_outputs = self.layer_sizes_[-1]
        y = np.empty((0, n_outputs)[: self._y_ndim])
        weights = self._flat_weights()
        if draws is None:
            draws = self._flat_draws()
        else:
            weights = np.full(len(draws), 1.0 / len(draws))
        model = self._build_model(X, y, np.empty(0), self.layer_sizes_)
        model = for_kernels(model._replace(center=self.X_mean_, size=self.X_scale_))
        work, z = init_work(model), np.empty((X.shape[0], n_outputs), self.dtype)
        noise = slice(
            sum((m + 1) * n for m, n in itertools.pairwise(self.layer_sizes_)),
            n_parameters(model),
        )
        for draw, weight in zip(draws, weights, strict=True):
            theta = draw[: noise.stop].astype(self.dtype)
            network_outputs(model, work, theta, z)
            yield z, theta[noise], weight

    def summary(
        self, *, prob: float = 0.94, parameters: Iterable[str] | None = None
    ) -> "pd.DataFrame":
        """Table of posterior summaries and convergence diagnostics of predictions.

        First come predictions of some training rows: the probability of their own
        class, or standardized outputs of the network. They are what chains must agree
        on; single weights of equivalent networks differ and mean nothing. Then come log
        precisions of the noise and precisions of weights. Warns if the 95 % point of
        R-hat of predictions over training rows, `r_hat_`, exceeds 1.1.

        Parameters
        ----------
        prob : float, default=0.94
            Probability of the highest density interval.
        parameters : list of str, default=None
            Names of parameters to show instead, ``"theta[0]"`` and so on.

        Returns
        -------
        table : pandas.DataFrame
            One row per quantity: ``mean``, ``sd``, the bounds of the interval
            (``hdi_3%`` and ``hdi_97%`` by default), effective sample size ``ess``,
            ``rhat``, and the Monte Carlo error of the mean ``mcse``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbayes_sg import SGHMCClassifierMLP
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SGHMCClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
        >>> model.fit(X, y).summary().index[0]
        'prediction[0]'
        """
        if parameters is not None:
            return super().summary(prob=prob, parameters=parameters)
        check_is_fitted(self)
        check_probability(prob)
        draws, names, parts = self._draws, [], []
        if getattr(self, "_model", None) is not None:
            values = predictions_of(self._model, draws)
            every = max(1, values.shape[-1] // SHOWN_PREDICTIONS)
            parts.append(values[..., ::every][..., :SHOWN_PREDICTIONS])
            names += [f"prediction[{i}]" for i in range(parts[0].shape[-1])]
        first = sum((m + 1) * n for m, n in itertools.pairwise(self.layer_sizes_))
        n_noise = len(self.mode_) - first
        names += [f"log_noise_precision[{k}]" for k in range(n_noise)]
        n_precisions = draws.shape[-1] - len(self.mode_)
        names += [f"weight_precision[{k}]" for k in range(n_precisions)]
        parts.append(draws[..., first:])
        table = self._summary_table(names, np.concatenate(parts, axis=-1), prob)
        if self.r_hat_ > MAX_RHAT:
            warn_user(
                f"The chains disagree on predictions: the 95 % point of R-hat over "
                f"training rows is {self.r_hat_:.2f}. Increase burn_in and thin.",
                ConvergenceWarning,
            )
        return table

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
