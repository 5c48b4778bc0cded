"""What Bayesian networks of all kinds share: parameters, chains, outputs of draws."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
from threadpoolctl import threadpool_limits

from skbayes_sg._base import MAX_RETRIES, BaseSGMCMC
from skbayes_sg._callbacks import FitTasks
from skbayes_sg._design import as_rows
from skbayes_sg._validation import (
    check_integer,
    check_number,
    check_option,
    check_path,
)
from skbayes_sg.inference.chains import DivergenceError, sample
from skbayes_sg.inference.networks import (
    automatic_network_lengths,
    damped,
    damping,
    network_units,
    random_weights,
    starting_precision,
    train,
)
from skbayes_sg.kernels.coordinates import Diagonal, Identity
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.models.mlp import MLP, network_outputs
from skbayes_sg.kernels.models.mlp_layers import ACTIVATIONS
from skbayes_sg.kernels.ops import (
    accurate_step,
    init_work,
    n_parameters,
    n_rows,
    prepare,
    stable_step,
    typed,
)
from skbayes_sg.kernels.schedules import SCHEDULES

BATCH_SIZE = 500
ROUNDS = (0.05, 0.1, 0.25)  # shares of burn-in after which units are measured again
TOLERANCE = 0.1  # relative error of a variance that a step may cause, noise apart
DTYPES = ("float32", "float64")
STORAGE_DTYPES = (None, "float16", *DTYPES)


class Uncertainty(NamedTuple):
    """What a prediction does not know, and why; arrays of shape (n_samples,).

    Entropies in nats of classes, variances of numbers. More data of the same kind
    lessen the epistemic part, not the aleatoric one.
    """

    total: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray


class BaseMLP(BaseSGMCMC):
    """Base of networks whose weights are posterior draws.

    A subclass has a likelihood of its own, `_likelihood`, and encodes y for it.
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_network(self):
        """Validate the parameters; return the sampler and the hidden sizes."""
        sampler = self._check_sampling()
        hidden = self.hidden_layer_sizes
        if isinstance(hidden, Iterable) and not isinstance(hidden, str):
            hidden = tuple(hidden)
        else:
            hidden = (hidden,)
        for size in hidden:
            check_integer("hidden_layer_sizes", size, at_least=1)
        check_option("activation", self.activation, ACTIVATIONS)
        check_option("dtype", self.dtype, DTYPES)
        if self.storage_dtype is not None:
            check_option("storage_dtype", self.storage_dtype, STORAGE_DTYPES[1:])
        check_path("storage", self.storage)
        if isinstance(self.weight_precision, str):
            check_option("weight_precision", self.weight_precision, ("gamma",))
        else:
            check_number("weight_precision", self.weight_precision, above=0)
        if self.temperature < 1 and self.weight_precision == "gamma":
            raise ValueError(
                f"temperature={self.temperature!r} is not allowed with "
                "weight_precision='gamma': the peak of weights and precisions together "
                "is at zero weights, and low temperatures find it; give "
                "weight_precision a number"
            )
        if self.preconditioner == "dense":
            raise ValueError(
                "preconditioner='dense' is not for networks, whose weights are too "
                'many; use "diagonal" or "none"'
            )
        if self.preconditioner == "none" and self.step_size == "auto":
            raise ValueError(
                "step_size='auto' is measured in the units of a preconditioner; with "
                'preconditioner="none" it must be a number'
            )
        # A name leaves the friction to us, an instance says its own.
        if self.sampler is None or isinstance(self.sampler, str):
            sampler = damped(sampler)
        return sampler, hidden

    def _validate(self, X, *y, reset=True, **options):
        return validate_data(
            self,
            X,
            *y,
            accept_sparse="csr",
            accept_large_sparse=False,
            dtype=np.dtype(self.dtype),
            order="C",
            reset=reset,
            **options,
        )

    def _fit_network(self, X, y, weights, n_outputs, goes_on=False):
        """Draw from the posterior of the weights; y is encoded."""
        sampler, hidden = self._check_network()
        n = X.shape[0]
        seen = n + (self.n_samples_seen_ if goes_on else 0)
        weights = np.empty(0) if weights is None else weights
        if seen > n:
            weights = (weights if weights.size else np.ones(n)) * (seen / n)
        model = self._build_model(X, y, weights, [X.shape[1], *hidden, n_outputs])
        # Chains are what runs in parallel.
        with threadpool_limits(1, user_api="blas"), FitTasks(self) as tasks:
            self._sample_network(model, sampler, goes_on or self.warm_start, tasks)
        self.n_samples_seen_ = seen
        self.layer_sizes_ = [int(size) for size in model.sizes]

    def _sample_network(self, model, sampler, goes_on, tasks):
        """Train, run the chains, set what was learnt."""
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        seeds = np.random.SeedSequence(entropy.tolist())
        rng = np.random.default_rng(seeds.spawn(1)[0])
        jobs = {"n_jobs": self.n_jobs, "progress": bool(self.verbose)}
        size = self._choose_batch_size(n_rows(model))
        thetas = self._last_draws(model) if goes_on else None
        rounds = ROUNDS if thetas is None else ()
        if thetas is None:
            if model.learns_precision:
                model = typed(model._replace(precision=starting_precision(model, rng)))
            starts = [random_weights(model, rng) for _ in range(self.n_chains)]
            stream = seeds.spawn(1)[0]
            thetas = train(model, np.stack(starts), size, random_state=stream, **jobs)
        gradient, mode = self._build_gradient(model, size, thetas[0]), thetas[0]
        if "mode" in gradient._fields:
            thetas = np.tile(mode, (self.n_chains, 1))
        h = accurate_step(sampler, 0.0, TOLERANCE)
        burn_in, thin = automatic_network_lengths(
            model, getattr(gradient, "batch_size", n_rows(model))
        )
        thin = thin if self.thin == "auto" else self.thin
        burn_in = burn_in if self.burn_in == "auto" else self.burn_in
        lengths = [int(share * burn_in) for share in rounds]
        settings = {"n_chains": self.n_chains, "temperature": self.temperature, **jobs}
        # Trained weights are small, and precisions learnt from them so large that they
        # would take long to come down: while the chains leave the modes they are held.
        held = model._replace(learns_precision=False)
        for length in filter(None, lengths):
            where = self._units(model, gradient, thetas, sampler, h, rng)
            thetas = self._run_chains(
                held,
                sampler,
                gradient,
                where,
                h,
                schedule="constant",
                n_draws=1,
                thin=length,
                start=thetas,
                random_state=seeds.spawn(1)[0],
                **settings,
            )[0][:, 0, : mode.size]
        where = self._units(model, gradient, thetas, sampler, h, rng)
        draws, info, h = self._run_chains(
            model,
            sampler,
            gradient,
            where,
            h,
            schedule=self.schedule,
            n_draws=self.n_draws,
            burn_in=burn_in - sum(lengths),
            thin=thin,
            start=thetas,
            noise_correction=self.noise_correction,
            storage=self.storage,
            callback=tasks,
            storage_dtype=self.storage_dtype,
            random_state=seeds.spawn(1)[0],
            **settings,
        )
        # As diagnostics need it: of the weights alone.
        marginal = np.zeros_like(model.precision)
        self._model = model
        if model.learns_precision:
            self._model = typed(model._replace(precision=marginal))
        self.samples_ = draws
        self.mode_ = mode
        self.step_size_ = h
        self.batch_size_ = getattr(gradient, "batch_size", n_rows(model))
        self.burn_in_, self.thin_ = burn_in, thin
        self.n_iter_ = info.n_iter + sum(lengths)
        self.draw_weights_ = info.step_sizes / info.step_sizes.sum()
        self.sampler_stats_ = info.stats
        unit, variance = where
        noise = np.max(unit**2 * variance)
        self.gradient_noise_ratio_ = float(h * noise / (4.0 * damping(sampler)))

    def _units(self, model, gradient, thetas, sampler, h, rng):
        """Return the units of the weights and the variance of their gradients."""
        size = getattr(gradient, "batch_size", n_rows(model))
        unit, variance = network_units(
            model, size, thetas, sampler, h, rng, self.temperature
        )
        return unit if self.preconditioner != "none" else np.ones_like(unit), variance

    def _run_chains(self, model, sampler, gradient, where, h, *, schedule, **settings):
        """Run `sample` in the units of `where`; return its draws, its info and h.

        An automatic step is a quarter as long after each divergence.
        """
        dtype = model.precision.dtype
        if self.preconditioner == "none":
            coordinates = Identity()
        else:
            unit = where[0].astype(dtype)
            coordinates = Diagonal(np.zeros_like(unit), unit)
        h = h if self.step_size == "auto" else self.step_size
        for last in [False] * MAX_RETRIES + [True]:
            try:
                draws, info = sample(
                    model,
                    sampler,
                    gradient,
                    step_size=SCHEDULES[schedule](h),
                    coordinates=coordinates,
                    # Weights larger than a hundred prior sds have run away.
                    scale=np.full(
                        n_parameters(model), max(1.0, model.precision.min() ** -0.5)
                    ),
                    step_limit=stable_step(sampler),
                    return_info=True,
                    **settings,
                )
                return draws, info, h
            except DivergenceError:
                if self.step_size != "auto" or last:
                    raise
                h /= 4

    def _choose_batch_size(self, n):
        if self.batch_size == "auto":
            return min(BATCH_SIZE, n)
        if self.batch_size > n:
            raise ValueError(
                f"batch_size={self.batch_size} is larger than n_samples={n}; "
                'use at most n_samples, or "auto"'
            )
        return self.batch_size

    def _build_gradient(self, model, size, mode):
        if hasattr(self.gradient, "_fields"):
            return self.gradient
        kind = GRADIENTS["minibatch" if self.gradient == "auto" else self.gradient]
        given = {"batch_size": size, "mode": mode}
        gradient = kind(**{key: given[key] for key in kind._fields if key in given})
        try:
            return prepare(gradient, model)
        except (NotImplementedError, ValueError) as error:
            raise ValueError(
                f"gradient={self.gradient!r} is not for networks: {error}; use "
                '"minibatch", "cv" or "svrg"'
            ) from error

    def _last_draws(self, model):
        """Return where the chains of the last fit ended, if they fit this model."""
        if not hasattr(self, "samples_"):
            return None
        same = self.layer_sizes_ == [int(size) for size in model.sizes]
        if not same or len(self.samples_) != self.n_chains:
            return None
        return np.asarray(self.samples_[:, -1, : n_parameters(model)], self.dtype)

    def _build_model(self, X, y, weights, sizes):
        """Return the network of these layer sizes on encoded data."""
        dtype = np.dtype(self.dtype)
        learns = self.weight_precision == "gamma"
        precision = 1.0 if learns else self.weight_precision
        return typed(
            MLP(
                activation=ACTIVATIONS[self.activation](),
                likelihood=self._likelihood,
                rows=as_rows(X),
                y=np.ascontiguousarray(y, dtype),
                weights=np.ascontiguousarray(weights, dtype),
                sizes=np.array(sizes, np.int64),
                precision=np.full(2 * len(sizes) - 2, precision, dtype),
                learns_precision=learns,
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
