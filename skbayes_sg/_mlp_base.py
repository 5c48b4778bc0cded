"""What the networks of all kinds share: parameters, chains, outputs of draws."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
from threadpoolctl import threadpool_limits

from skbayes_sg._base import BaseSGMCMC
from skbayes_sg._design import as_rows
from skbayes_sg._validation import check_integer, check_number, check_option
from skbayes_sg.inference.chains import allocate_draws, sample
from skbayes_sg.inference.networks import (
    automatic_network_lengths,
    network_geometry,
    network_step,
    random_weights,
    train,
)
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.models.mlp import MLP, network_outputs, unpack
from skbayes_sg.kernels.models.mlp_layers import ACTIVATIONS
from skbayes_sg.kernels.ops import init_work, n_parameters, n_rows, stable_step, typed
from skbayes_sg.kernels.schedules import SCHEDULES

BATCH_SIZE = 500
TRAINING_EPOCHS = 20
N_ADAPTATIONS = 3  # times that the units are measured again during burn-in


class BaseMLP(BaseSGMCMC):
    """Base of networks whose weights are posterior draws.

    A subclass names its likelihood in `_likelihood` and encodes y.
    """

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        *,
        activation="relu",
        weight_precision="gamma",
        step_size="auto",
        gradient="auto",
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
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_network(self):
        """Validate the parameters; return the sampler and the hidden sizes."""
        sampler = self._check_sampling()
        hidden = self.hidden_layer_sizes
        hidden = tuple(hidden) if isinstance(hidden, Iterable) else (hidden,)
        for size in hidden:
            check_integer("hidden_layer_sizes", size, at_least=1)
        check_option("activation", self.activation, ACTIVATIONS)
        check_option("dtype", self.dtype, ("float32", "float64"))
        if isinstance(self.weight_precision, str):
            check_option("weight_precision", self.weight_precision, ("gamma",))
        else:
            check_number("weight_precision", self.weight_precision, above=0)
        if self.preconditioner == "dense":
            raise ValueError(
                'preconditioner="dense" is not for networks; use "diagonal" or "none"'
            )
        if self.preconditioner == "none" and self.step_size == "auto":
            raise ValueError(
                'step_size="auto" is in the units of a preconditioner; with '
                'preconditioner="none" give a number'
            )
        return sampler, hidden

    def _validate(self, X, **options):
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            accept_large_sparse=False,
            dtype=np.dtype(self.dtype),
            order="C",
            **options,
        )

    def _fit_network(self, X, y, weights, n_outputs):
        """Draw from the posterior of the weights; y is encoded."""
        sampler, hidden = self._check_network()
        dtype = np.dtype(self.dtype)
        learns = self.weight_precision == "gamma"
        precision = 1.0 if learns else float(self.weight_precision)
        model = typed(
            MLP(
                activation=ACTIVATIONS[self.activation](),
                likelihood=self._likelihood,
                rows=as_rows(X),
                y=np.ascontiguousarray(y, dtype),
                weights=np.ascontiguousarray(weights, dtype),
                sizes=np.array([X.shape[1], *hidden, n_outputs], np.int64),
                precision=np.full(2 * len(hidden) + 2, precision, dtype),
                learns_precision=learns,
            )
        )
        with threadpool_limits(1, user_api="blas"):  # chains are what runs in parallel
            self._sample_posterior(model, sampler)
        self.layer_sizes_ = [int(size) for size in model.sizes]

    def _sample_posterior(self, model, sampler):
        """Train, find the units where the chains are, run them, set what was learnt."""
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        seeds = iter(np.random.SeedSequence(entropy.tolist()).spawn(3 + N_ROUNDS))
        rng = np.random.default_rng(next(seeds))
        jobs = {"n_jobs": self.n_jobs, "progress": bool(self.verbose)}
        size = self._network_batch_size(n_rows(model))
        thetas = self._warm_draws(model)
        cold = thetas is None
        if cold:
            starts = [random_weights(model, rng) for _ in range(self.n_chains)]
            thetas = train(model, np.stack(starts), size, next(seeds), **jobs)
        modes, gradient = thetas, self._network_gradient(size, thetas[0])
        if hasattr(gradient, "mode"):
            thetas = np.tile(gradient.mode, (self.n_chains, 1))
        options = {
            "n_chains": self.n_chains,
            "schedule": SCHEDULES[self.schedule],
            "temperature": self.temperature,
            "noise_correction": self.noise_correction,
            **jobs,
        }
        burn_in = BURN_IN if self.burn_in == "auto" else self.burn_in
        thin = THIN if self.thin == "auto" else self.thin
        where = network_geometry(model, thetas, size, rng)
        if self.preconditioner == "none":
            where = where._replace(coordinates=Identity())
        elif cold and burn_in >= 2 * N_ROUNDS:
            # Trained weights are small, and precisions learnt from them so large that
            # they would take long to come down; at first they are held.
            held = model._replace(learns_precision=False)
            for _ in range(N_ROUNDS):
                draws, _, _ = run_networks(
                    held,
                    self._network_sampler(sampler, where),
                    gradient,
                    where,
                    self.step_size,
                    n_draws=1,
                    thin=burn_in // (2 * N_ROUNDS),
                    start=thetas,
                    random_state=next(seeds),
                    **options,
                )
                thetas = draws[:, 0, : thetas.shape[1]]
                where = network_geometry(model, thetas, size, rng)
            burn_in -= burn_in // 2
        sampler = self._network_sampler(sampler, where)
        self.samples_, info, h = run_networks(
            model,
            sampler,
            gradient,
            where,
            self.step_size,
            n_draws=self.n_draws,
            burn_in=burn_in,
            thin=thin,
            start=thetas,
            storage=self.storage,
            random_state=next(seeds),
            **options,
        )
