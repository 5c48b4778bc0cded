"""What Bayesian networks of all kinds share: parameters, chains, outputs of draws."""

import itertools
import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from skbayes_sg.base._callbacks import FitTasks
from skbayes_sg.base._sampling import BaseSGMCMC, Run
from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.exploration.mlp import (
    automatic_network_lengths,
    damped,
    damping,
    network_units,
    random_weights,
    starting_precision,
    train,
    training_length,
)
from skbayes_sg.inference.storage import allocate_draws
from skbayes_sg.kernels.coordinates import Diagonal, Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.models.mlp import MLP, network_outputs
from skbayes_sg.kernels.models.mlp_layers import ACTIVATIONS
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.model import init_work, n_parameters, n_rows
from skbayes_sg.kernels.protocol.sampler import accurate_step, stable_step
from skbayes_sg.utils._design import as_rows
from skbayes_sg.utils._validation import (
    check_integer,
    check_option,
    check_path,
    check_precision,
)

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


class NetworkGeometry(NamedTuple):
    """Where the chains of networks are, and in which units they move."""

    mode: np.ndarray  # (d,) trained weights
    coordinates: NamedTuple
    theta_sd: np.ndarray  # (d,) prior sds: weights a hundred times as large ran away
    spent: int = 0  # steps of burn-in before


class BaseMLP(BaseSGMCMC):
    """Base of networks whose weights are posterior draws.

    A subclass has a likelihood of its own, `_likelihood`, and encodes y for it.
    """

    _default_sampler = "baoab"
    _posterior_temperature = 1.0  # T is the likelihood's, a factor of the rows' weights

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
            check_precision("weight_precision", self.weight_precision, self.dtype)
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
        # What single precision cannot hold is an error, and no warning beside it.
        with np.errstate(over="ignore", invalid="ignore"):
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
        factor = seen / (n * self.temperature)
        if factor != 1.0:
            weights = factor * (np.ones(n) if weights is None else weights)
        weights = np.empty(0) if weights is None else weights
        model = self._build_model(X, y, weights, [X.shape[1], *hidden, n_outputs])
        if self.storage is None:  # too many draws are refused before the training
            dtype = self.storage_dtype or self.dtype
            allocate_draws(model, self.n_chains, self.n_draws, dtype=dtype)
        # Chains are what runs in parallel.
        with one_blas_thread(), FitTasks(self) as tasks:
            self._sample_network(model, sampler, goes_on or self.warm_start, tasks)
        self.n_samples_seen_ = seen
        self.layer_sizes_ = [int(size) for size in model.sizes]

    def _sample_network(self, model, sampler, goes_on, tasks):
        """Train, run the chains, set what was learnt."""
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        seeds = np.random.SeedSequence(entropy.tolist())
        run = self._last_run(model, sampler)
        if run is None:
            run = self._first_run(model, sampler, seeds, tasks, goes_on)
        else:
            run.draw(self, model, sampler, tasks, seeds.spawn(1)[0])
        if model.learns_precision:  # as diagnostics need it: of the weights alone
            marginal = np.zeros_like(model.precision)
            model = for_kernels(model._replace(precision=marginal))
        self._keep(run, model)
        self.burn_in_ += run.where.spent
        self.n_iter_ += run.where.spent
        ratio = run.step_size * np.max(run.noise) / (4.0 * damping(sampler))
        self.gradient_noise_ratio_ = float(ratio)

    def _first_run(self, model, sampler, seeds, tasks, goes_on=False):
        """Train networks, let the chains leave the modes, and run them."""
        key, rng = self._key(model, sampler), np.random.default_rng(seeds.spawn(1)[0])
        size = self._choose_batch_size(n_rows(model))
        thetas = self._last_draws(model) if goes_on else None
        rounds = ROUNDS if thetas is None else ()
        if thetas is None:
            burn_in, thin = self._lengths(model, size)
            steps = training_length(model, size) + burn_in + self.n_draws * thin
            tasks.bar.expect(self.n_chains * steps)
            if model.learns_precision:
                model = for_kernels(
                    model._replace(precision=starting_precision(model, rng))
                )
            starts = [random_weights(model, rng) for _ in range(self.n_chains)]
            settings = self._settings(seeds.spawn(1)[0], "training", tasks)
            thetas = train(model, np.stack(starts), size, **settings)
        gradient, mode = self._build_gradient(model, size, thetas[0]), thetas[0]
        if "mode" in gradient._fields:
            thetas = np.tile(mode, (self.n_chains, 1))
        size = getattr(gradient, "batch_size", n_rows(model))
        h, spent = accurate_step(sampler, 0.0, TOLERANCE), 0
        burn_in, thin = self._lengths(model, size)
        for length in filter(None, (int(share * burn_in) for share in rounds)):
            where, _ = self._units(model, size, thetas, sampler, h, rng)
            parts, seed = (model, sampler, gradient, where), seeds.spawn(1)[0]
            thetas = self._leave_modes(*parts, h, thetas, length, spent, seed, tasks)
            spent += length
        where, noise = self._units(model, size, thetas, sampler, h, rng)
        stream = seeds.spawn(1)[0]

        def draw(h, attempt):
            run = Run(
                key=key,
                where=where._replace(mode=mode, spent=spent),
                gradient=gradient,
                noise=noise,
                step_size=h,
                burn_in=burn_in - spent,
                thin=thin,
                limit=stable_step(sampler),
            )
            run.draw(self, model, sampler, tasks, stream, thetas, attempt)
            return run

        return self._retried(draw, h if self.step_size == "auto" else self.step_size)

    def _lengths(self, model, size):
        """Return burn-in and thinning."""
        burn_in, thin = automatic_network_lengths(model, size)
        return (
            burn_in if self.burn_in == "auto" else self.burn_in,
            thin if self.thin == "auto" else self.thin,
        )

    def _units(self, model, size, thetas, sampler, h, rng):
        """Return where the chains are, and the variance of gradients in its units."""
        unit, variance = network_units(
            model, size, thetas, sampler, h, rng, self.temperature
        )
        if self.preconditioner == "none":
            unit, coordinates = np.ones_like(unit), Identity()
        else:
            scale = unit.astype(thetas.dtype)
            coordinates = Diagonal(np.zeros_like(scale), scale)
        reach = np.full(unit.size, max(1.0, model.precision.min() ** -0.5))
        return NetworkGeometry(thetas[0], coordinates, reach), unit**2 * variance

    def _leave_modes(
        self, model, sampler, gradient, where, h, thetas, length, spent, seed, tasks
    ):
        """Return where the chains from `thetas` are after `length` steps.

        Trained weights are small, and precisions learnt from them so large that they
        would take long to come down: meanwhile they are held.
        """

        def run(h, attempt):
            return sample(
                model._replace(learns_precision=False),
                sampler,
                gradient,
                step_size=h,
                n_draws=1,
                thin=length,
                n_chains=self.n_chains,
                start=thetas,
                coordinates=where.coordinates,
                scale=where.theta_sd,
                step_limit=stable_step(sampler),
                **self._settings(seed, f"burn-in-{spent}-attempt-{attempt}", tasks),
            )

        h = h if self.step_size == "auto" else self.step_size
        return self._retried(run, h)[:, 0, : where.mode.size]

    def _settings(self, seed, name, tasks):
        """Return settings of a run before the main one, which has files of its own."""
        folder = self.checkpoint
        return {
            "checkpoint": None if folder is None else os.path.join(folder, name),
            "n_jobs": self.n_jobs,
            "progress": tasks.bar,
            "random_state": seed,
        }

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
        return for_kernels(
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
