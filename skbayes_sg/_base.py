"""What all estimators share: parameters of sampling, seeds, chains, averages."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from skbayes_sg._diagnostics import DiagnosticsMixin
from skbayes_sg._validation import (
    check_auto,
    check_bool,
    check_component,
    check_integer,
    check_number,
    check_option,
)
from skbayes_sg.inference.chains import DivergenceError, sample
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.inference.tuning import (
    PILOT_SIZE,
    automatic_batch_size,
    automatic_lengths,
    automatic_step,
    geometry,
    gradient_noise,
    step_limit,
    stiffness,
)
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.ops import check_parts, n_rows, preconditioner_of, typed
from skbayes_sg.kernels.samplers import SAMPLERS
from skbayes_sg.kernels.schedules import SCHEDULES

MAX_RETRIES = 5  # of an automatic step size after a divergence
PRECONDITIONERS = ("auto", "dense", "diagonal", "none")


class BaseSGMCMC(DiagnosticsMixin, BaseEstimator):
    """Base of estimators whose parameters are posterior draws.

    A subclass lists its parameters in its own constructor, builds a model in `fit` and
    calls `_sample_posterior`. `_default_sampler` is what ``sampler=None`` means;
    `_sampler_kinds` limits the samplers that the class takes, None for any.
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = None

    def __sklearn_is_fitted__(self):
        return hasattr(self, "samples_")

    def __getstate__(self):
        # The model refers to the training data, which a saved estimator does not carry.
        state = dict(super().__getstate__())
        state.pop("_model", None)
        return state

    def _check_sampling(self):
        """Validate the parameters that all estimators share; return the sampler."""
        check_auto("step_size", self.step_size, check_number, above=0)
        check_auto("batch_size", self.batch_size, check_integer, at_least=1)
        check_auto("burn_in", self.burn_in, check_integer, at_least=0)
        check_auto("thin", self.thin, check_integer, at_least=1)
        check_integer("n_draws", self.n_draws, at_least=1)
        check_integer("n_chains", self.n_chains, at_least=1)
        check_option("preconditioner", self.preconditioner, PRECONDITIONERS)
        check_option("schedule", self.schedule, SCHEDULES)
        check_number("temperature", self.temperature, above=0)
        check_bool("noise_correction", self.noise_correction)
        check_bool("warm_start", self.warm_start)
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, at_least=0)
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, at_least=-1_000_000)
            if self.n_jobs == 0:
                raise ValueError("n_jobs=0 is not allowed; use None, -1 or 1 and more")
        if self.gradient != "auto":
            check_component("gradient", self.gradient, GRADIENTS)
        sampler = self._default_sampler if self.sampler is None else self.sampler
        return check_component("sampler", sampler, SAMPLERS, self._sampler_kinds)

    def _sample_posterior(self, model, sampler):
        """Find the mode, choose what is "auto", run the chains, set what was learnt."""
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        seeds = np.random.SeedSequence(entropy.tolist())
        model = typed(model)
        previous = self._warm_draws(model)
        mode = find_mode(model, previous.mean(axis=0) if previous is not None else None)
        preconditioner = self.preconditioner
        if preconditioner == "auto":
            preconditioner = preconditioner_of(sampler)
        where = geometry(model, mode, preconditioner)
        gradient, noise = self._choose_gradient(
            model, sampler, where, seeds.spawn(1)[0]
        )
        start = previous
        if start is None:
            rng = np.random.default_rng(seeds.spawn(1)[0])
            start = where.rough_draws(rng, self.n_chains)
        h, stream = self.step_size, seeds.spawn(1)[0]
        if h == "auto":
            # At temperature T curvature falls by T and gradient noise by T^2.
            steeper = stiffness(model, where, seeds.spawn(1)[0]) / self.temperature
            h = automatic_step(sampler, where, noise / self.temperature, steeper)
        for last in [False] * MAX_RETRIES + [True]:
            burn_in, thin = automatic_lengths(sampler, where, h)
            burn_in = burn_in if self.burn_in == "auto" else self.burn_in
            thin = thin if self.thin == "auto" else self.thin
            try:
                draws, info = sample(
                    model,
                    sampler,
                    gradient,
                    step_size=SCHEDULES[self.schedule](h),
                    n_draws=self.n_draws,
                    burn_in=burn_in,
                    thin=thin,
                    n_chains=self.n_chains,
                    start=start,
                    coordinates=where.coordinates,
                    temperature=self.temperature,
                    noise_correction=self.noise_correction,
                    scale=where.theta_sd,
                    step_limit=step_limit(sampler, where),
                    n_jobs=self.n_jobs,
                    random_state=stream,
                    progress=bool(self.verbose),
                    return_info=True,
                )
                break
            except DivergenceError:
                if self.step_size != "auto" or last:
                    raise
                h /= 4  # the posterior is steeper elsewhere than it was seen to be
        self._model = model
        self.samples_ = draws
        self.mode_ = mode
        self.step_size_ = h
        self.batch_size_ = getattr(gradient, "batch_size", n_rows(model))
        self.burn_in_, self.thin_, self.n_iter_ = burn_in, thin, info.n_iter
        self.draw_weights_ = info.step_sizes / info.step_sizes.sum()
        self.sampler_stats_ = info.stats
        variance = info.gradient_variance.mean(axis=0)  # NaN without burn-in
        if np.isnan(variance).any():
            variance = noise * where.curvatures
        self.gradient_noise_ratio_ = float(0.25 * h * np.max(variance))

    def _choose_gradient(self, model, sampler, where, seed):
        """Return a gradient estimator and its relative variance, (d,)."""
        n, gradient, size = n_rows(model), self.gradient, self.batch_size
        if size != "auto" and size > n:
            raise ValueError(
                f"batch_size={size} is larger than n_samples={n}; "
                'use at most n_samples, or "auto"'
            )
        if hasattr(gradient, "_fields"):
            return gradient, gradient_noise(model, gradient, where, seed)
        name = "weighted-cv" if gradient == "auto" else gradient
        if "batch_size" not in GRADIENTS[name]._fields:
            return GRADIENTS[name](), np.zeros(where.mode.size)

        def build(size):
            kind = GRADIENTS[name]
            given = {"batch_size": size, "mode": where.mode}
            return kind(**{key: given[key] for key in kind._fields if key in given})

        pilot = min(n, PILOT_SIZE) if size == "auto" else size
        exact = GRADIENTS["full"](), np.zeros(where.mode.size)
        if size == "auto" and pilot == n:
            return exact
        if gradient == "auto" and not fits(sampler, model, build(pilot), where):
            return exact
        noise = gradient_noise(model, build(pilot), where, seed)
        if size != "auto":
            return build(size), noise
        size = automatic_batch_size(model, sampler, noise, pilot)
        if "mode" not in GRADIENTS[name]._fields:
            # The simple estimators never let the full step through: cost per effective
            # draw is level in the batch size, so a moderate one serves.
            size = min(size, max(pilot, n // 100))
        if gradient == "auto" and size > n // 2:
            return exact
        return build(size), noise * (1 / size - 1 / n) / (1 / pilot - 1 / n)

    def _warm_draws(self, model):
        """Return the last draw of each chain if this fit goes on from the last."""
        if not (self.warm_start and hasattr(self, "samples_")):
            return None
        last = self.samples_[:, -1]
        return last if last.shape == (self.n_chains, self.mode_.size) else None

    def _flat_draws(self):
        """Return all draws of all chains, (n_chains * n_draws, dim)."""
        check_is_fitted(self)
        return self.samples_.reshape(-1, self.samples_.shape[-1])

    def _flat_weights(self):
        """Return the weights of `_flat_draws` in averages; they sum to one."""
        return np.tile(self.draw_weights_, len(self.samples_)) / len(self.samples_)


def fits(sampler, model, gradient, where):
    """Whether the sampler takes this gradient estimator; exact ones do not."""
    try:
        check_parts(sampler, model, gradient, where.coordinates)
    except ValueError:
        return False
    return True
