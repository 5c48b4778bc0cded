"""What all estimators share: parameters of sampling, seeds, chains, averages."""

import os
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from skbayes_sg.base._callbacks import CallbackSupportMixin, FitTasks
from skbayes_sg.base._diagnostics import DiagnosticsMixin, warn_of_step
from skbayes_sg.base._saving import VersionedMixin
from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.checkpoints import identity
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.exploration.unimodal import (
    MIN_ROWS,
    automatic_batch_size,
    automatic_lengths,
    automatic_step,
    geometry,
    gradient_noise,
    pilot,
    step_limit,
)
from skbayes_sg.inference.moments import Moments
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.inference.storage import KEPT
from skbayes_sg.kernels.capabilities.anchors import anchored
from skbayes_sg.kernels.compiling import announced
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.protocol.model import n_rows
from skbayes_sg.kernels.protocol.sampler import check_parts, preconditioner_of
from skbayes_sg.kernels.samplers import SAMPLERS
from skbayes_sg.kernels.schedules import SCHEDULES
from skbayes_sg.utils._validation import (
    check_auto,
    check_bool,
    check_component,
    check_integer,
    check_n_jobs,
    check_number,
    check_option,
    check_path,
)

MAX_RETRIES = 5  # of an automatic step size after a divergence
N_LINEARIZED = 32  # typical draws at which linear control variates are fitted
PRECONDITIONERS = ("auto", "dense", "diagonal", "none")


@dataclass
class Run:
    """The settings of a run of chains, and what came of it."""

    key: str  # what the dynamics depend on, where chains may go on; else None
    where: object  # Geometry
    gradient: object
    noise: np.ndarray  # (d,) relative variance of the gradient
    step_size: float
    burn_in: int
    thin: int
    limit: float  # largest stable step size
    draws: object = None  # ndarray, or Moments where none are kept
    info: object = None  # SampleInfo

    def draw(self, estimator, model, sampler, tasks, seed, start=None, attempt=0):
        """Run the chains of an estimator, from `start` or from where they ended."""
        checkpoint = estimator.checkpoint
        if checkpoint is not None:
            checkpoint = os.path.join(checkpoint, f"attempt-{attempt}")
        try:
            self.draws, self.info = sample(
                model,
                sampler,
                self.gradient,
                step_size=SCHEDULES[estimator.schedule](self.step_size),
                n_draws=estimator.n_draws,
                burn_in=self.burn_in,
                thin=self.thin,
                n_chains=estimator.n_chains,
                start=start,
                coordinates=self.where.coordinates,
                temperature=estimator._posterior_temperature,
                noise_correction=estimator.noise_correction,
                scale=self.where.theta_sd,
                step_limit=self.limit,
                storage=estimator.storage,
                storage_dtype=estimator.storage_dtype,
                keep=estimator.keep,
                checkpoint=checkpoint,
                resume=self.info.chains if self.info is not None else None,
                n_jobs=estimator.n_jobs,
                random_state=seed,
                progress=tasks.bar,
                callback=tasks,
                return_info=True,
            )
        except KeyboardInterrupt as interrupt:
            partial = getattr(interrupt, "partial", None)
            if not estimator.warm_start or partial is None or partial[0].size == 0:
                raise
            self.draws, self.info = partial
            estimator._interrupt = interrupt  # raised once these draws are in place


@dataclass
class Stream:
    """Chains that see one batch of the data at a time."""

    total: int  # rows for which a batch stands
    where: object  # Geometry
    noise: np.ndarray  # (d,) relative variance of a batch's gradient
    step_size: float
    start: np.ndarray  # (n_chains, d)
    seed: object
    chains: list  # where they are, None before the first step
    steps: np.ndarray  # step sizes of the draws that are kept


class BaseSGMCMC(CallbackSupportMixin, DiagnosticsMixin, VersionedMixin, BaseEstimator):
    """Base of estimators whose parameters are posterior draws.

    A subclass lists its parameters in its own constructor, builds a model in `fit` and
    calls `_sample_posterior`. `_default_sampler` is what ``sampler=None`` means;
    `_sampler_kinds` limits the samplers that the class takes, None for any.
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = None
    # Of classes that do not take these parameters:
    checkpoint = storage_dtype = None
    keep = "draws"

    @property
    def _posterior_temperature(self):
        """The temperature of what the chains draw from, prior and likelihood."""
        return self.temperature

    def __sklearn_is_fitted__(self):
        return hasattr(self, "samples_") or hasattr(self, "moments_")

    def __getattr__(self, name):
        # Whatever needs draws asks for this, and learns why there are none.
        if name == "samples_" and "moments_" in vars(self):
            raise AttributeError(
                f"{type(self).__name__} has no samples_, and nothing that needs them: "
                'keep="moments" and keep="variances" keep no draws. Fit it with '
                'keep="draws"'
            )
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    def __getstate__(self):
        # The model refers to the training data, which a saved estimator does not carry.
        state = dict(super().__getstate__())
        for name in ("_model", "_run"):
            state.pop(name, None)
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
        check_option("keep", self.keep, KEPT)
        check_path("storage", self.storage)
        check_path("checkpoint", self.checkpoint)
        if self.checkpoint is not None:
            check_integer("random_state", self.random_state, at_least=0)
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, at_least=0)
        check_n_jobs(self.n_jobs)
        if self.gradient != "auto":
            check_component("gradient", self.gradient, GRADIENTS)
        sampler = self._default_sampler if self.sampler is None else self.sampler
        return check_component("sampler", sampler, SAMPLERS, self._sampler_kinds)

    def _sample_posterior(self, model, sampler):
        """Find the mode, choose what is "auto", run the chains, set what was learnt."""
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        seeds = np.random.SeedSequence(entropy.tolist())
        model = for_kernels(model)
        run = self._last_run(model, sampler)
        with FitTasks(self) as tasks, announced(self.verbose):
            if run is None:
                run = self._first_run(model, sampler, seeds, tasks)
            else:
                run.draw(self, model, sampler, tasks, seeds.spawn(1)[0])
        self._keep(run, model)
        variance = run.info.gradient_variance.mean(axis=0)  # NaN without burn-in
        if np.isnan(variance).any():
            variance = run.noise * run.where.curvatures
        self.gradient_noise_ratio_ = float(0.25 * run.step_size * np.max(variance))
        if self._is_unstable(model, sampler, run.where, run.noise, run.info.step_sizes):
            warn_of_step(self.step_size, step_limit(sampler, run.where, 1.0, run.noise))

    def _is_unstable(self, model, sampler, where, noise, steps=()):
        """Whether the given step size, or any of `steps`, is too large at the mode.

        Not where a search is to find out. Metropolis samplers, which are those that
        take exact gradients only, reject what is unstable.
        """
        if self.step_size == "auto" or vars(self).get("_memory") is not None:
            return False
        h = max(steps, default=self.step_size)
        return h > step_limit(sampler, where, 1.0, noise) and fits(
            sampler, model, GRADIENTS["minibatch"](1), where
        )

    def _keep(self, run, model):
        """Set what a run has learnt; hold on to it if a later fit may go on with it."""
        self._model = model
        self.mode_ = run.where.mode
        self.step_size_ = run.step_size
        self.batch_size_ = getattr(run.gradient, "batch_size", n_rows(model))
        self.burn_in_, self.thin_, self.n_iter_ = run.burn_in, run.thin, run.info.n_iter
        self._set_draws(run.draws, run.info.step_sizes)
        self.sampler_stats_ = run.info.stats
        self._run = None
        if self.warm_start and run.info.chains is not None:
            self._run = run

    def _set_draws(self, draws, step_sizes):
        """Set draws with their weights, or the moments of draws that are not kept."""
        for name in ("samples_", "draw_weights_", "moments_"):
            vars(self).pop(name, None)
        if isinstance(draws, Moments):
            self.moments_ = draws
        else:
            self.samples_ = draws
            self.draw_weights_ = step_sizes / step_sizes.sum()

    def _first_run(self, model, sampler, seeds, tasks):
        """Choose what is "auto" and run the chains, with smaller steps if need be."""
        previous, h = self._warm_draws(model), self.step_size
        pilot_seed, noise_seed, stream = seeds.spawn(3)

        def survey():
            start = None if previous is None else previous.mean(axis=0)
            mode = find_mode(model, start)
            where = geometry(model, mode, self._preconditioner(sampler))
            where = where.heated(self.temperature)
            typical = pilot(model, where, pilot_seed)
            chosen = self._choose_gradient(model, sampler, where, typical, noise_seed)
            return where, typical, *chosen

        where, typical, gradient, noise = self._shared("survey", survey)
        start = typical.spread(self.n_chains) if previous is None else previous
        if h == "auto":
            h = automatic_step(
                sampler,
                where,
                noise,
                typical.steepness,
                self.n_chains * self.n_draws,
                None if self.thin == "auto" else self.thin,
            )
        h = float(h)  # in single precision, a small one may leave no trace

        def draw(h, attempt):
            burn_in, thin = automatic_lengths(sampler, where, h, noise)
            run = Run(
                key=self._key(model, sampler),
                where=where,
                gradient=gradient,
                noise=noise,
                step_size=h,
                burn_in=burn_in if self.burn_in == "auto" else self.burn_in,
                thin=thin if self.thin == "auto" else self.thin,
                limit=step_limit(sampler, where, typical.steepness, noise),
            )
            run.draw(self, model, sampler, tasks, stream, start, attempt)
            return run

        return self._retried(draw, h)

    def _retried(self, run, h):
        """Return ``run(h, attempt)``; an automatic h is cut after a divergence."""
        for attempt in range(MAX_RETRIES + 1):
            try:
                return run(h, attempt)
            except DivergenceError:
                if self.step_size != "auto" or attempt == MAX_RETRIES:
                    raise
                h /= 4  # the posterior is steeper elsewhere than it was seen to be

    def _key(self, model, sampler):
        """Return a digest of all that the chains' dynamics depend on."""
        if not self.warm_start:
            return None
        return identity(
            model,
            sampler,
            *(getattr(self, name) for name in ("gradient", "batch_size", "step_size")),
            *(getattr(self, name) for name in ("preconditioner", "schedule", "thin")),
            *(self.temperature, self.noise_correction, self.n_chains),
        )

    def _last_run(self, model, sampler):
        """Return the last fit's run if this fit is to go on with its chains."""
        run = getattr(self, "_run", None)
        if not self.warm_start or run is None:
            return None
        return run if run.key == self._key(model, sampler) else None

    def _step_on(self, model, sampler, total):
        """Make `thin` steps on a batch that stands for `total` rows; keep one draw."""
        model, stream = for_kernels(model), getattr(self, "_stream", None)
        if stream is None or not stream.total <= total < 2 * stream.total:
            stream = self._new_stream(model, sampler, total)
        if n_rows(model) < total:
            batch = GRADIENTS["minibatch"](n_rows(model))
            check_parts(sampler, model, batch, stream.where.coordinates)
        draws, info = sample(
            model,
            sampler,
            GRADIENTS["full"](),
            step_size=SCHEDULES[self.schedule](stream.step_size),
            n_draws=1,
            thin=1 if self.thin == "auto" else self.thin,
            n_chains=self.n_chains,
            start=stream.start,
            coordinates=stream.where.coordinates,
            temperature=self.temperature,
            scale=stream.where.theta_sd,
            step_limit=step_limit(sampler, stream.where, noise=stream.noise),
            resume=stream.chains,
            n_jobs=self.n_jobs,
            random_state=stream.seed,
            return_info=True,
        )
        steps = np.append(stream.steps, info.step_sizes)[-self.n_draws :]
        if stream.steps.size:
            draws = np.concatenate([self.samples_, draws], axis=1)[:, -self.n_draws :]
        self._stream = replace(stream, chains=info.chains, steps=steps)
        self._model, self._run = model, None
        self._set_draws(draws, steps)
        self.mode_, self.step_size_ = stream.where.mode, stream.step_size
        self.batch_size_, self.n_iter_ = n_rows(model), info.n_iter
        self.burn_in_, self.thin_ = 0, 1 if self.thin == "auto" else self.thin
        self.sampler_stats_ = info.stats
        noise = stream.noise * stream.where.curvatures
        self.gradient_noise_ratio_ = float(0.25 * stream.step_size * np.max(noise))

    def _new_stream(self, model, sampler, total):
        """Choose coordinates and step size from the first of many batches."""
        n = n_rows(model)
        half = GRADIENTS["minibatch"](max(1, n // 2))
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        noise_seed, start_seed, seed = np.random.SeedSequence(entropy.tolist()).spawn(3)
        if self.noise_correction:
            raise ValueError(
                "noise_correction=True is not for partial_fit, which sees each batch "
                "once; use fit, or noise_correction=False"
            )
        previous = self.samples_[:, -1] if hasattr(self, "samples_") else None
        if previous is not None and len(previous) != self.n_chains:
            previous = None
        mode = find_mode(model, previous.mean(axis=0) if previous is not None else None)
        where = geometry(model, mode, self._preconditioner(sampler))
        where = where.heated(self.temperature)
        check_parts(sampler, model, half, where.coordinates)
        typical = pilot(model, where, start_seed)
        noise = np.zeros(mode.size)
        if 1 < n < total:
            noise = gradient_noise(model, half, where, typical.draws, noise_seed)
            noise *= (1 / n - 1 / total) / (1 / half.batch_size - 1 / n)
        h = self.step_size
        if h == "auto":
            h = automatic_step(sampler, where, noise, typical.steepness)
        elif self._is_unstable(model, sampler, where, noise):
            warn_of_step(h, step_limit(sampler, where, 1.0, noise))
        start = typical.spread(self.n_chains) if previous is None else previous
        return Stream(total, where, noise, h, start, seed, None, np.empty(0))

    def _preconditioner(self, sampler):
        """Return the name of the preconditioner to use."""
        if self.preconditioner == "auto":
            return preconditioner_of(sampler)
        return self.preconditioner

    def _choose_gradient(self, model, sampler, where, typical, seed):
        """Return a gradient estimator and its relative variance, (d,)."""
        n, gradient, size = n_rows(model), self.gradient, self.batch_size
        if size != "auto" and size > n:
            raise ValueError(
                f"batch_size={size} is larger than n_samples={n}; "
                'use at most n_samples, or "auto"'
            )

        # Some draws to fit control variates at, the others to measure their noise.
        fitted, others = typical.parted(N_LINEARIZED)

        def noise_of(gradient):
            return gradient_noise(model, gradient, where, others, seed)

        if hasattr(gradient, "_fields"):
            return gradient, noise_of(gradient)
        name = gradient
        if gradient == "auto":  # rows bend too much where the posterior is skewed
            name = "weighted-cv" if typical.is_skewed else "linear-cv"
        if "batch_size" not in GRADIENTS[name]._fields:
            return GRADIENTS[name](), np.zeros(where.mode.size)

        few, kind = min(n, MIN_ROWS), GRADIENTS[name]
        given = {"batch_size": few if size == "auto" else size, "mode": where.mode}
        given["draws"] = fitted
        given = {key: given[key] for key in kind._fields if key in given}
        if size == "auto" and (
            few == n or not fits(sampler, model, kind(**given), where)
        ):
            return GRADIENTS["full"](), np.zeros(where.mode.size)
        about_mode = anchored(kind(**given), model)

        def build(size):
            return about_mode._replace(batch_size=size)

        if size == "auto":
            if "mode" in kind._fields:
                size = automatic_batch_size(
                    n, sampler, lambda size: noise_of(build(size)), typical.steepness
                )
            else:
                # The simple estimators never let the full step through: cost per
                # effective draw is level in the batch size, so a moderate one serves.
                size = max(few, n // 100)
            if gradient == "auto" and size > n // 2:
                return GRADIENTS["full"](), np.zeros(where.mode.size)
        return build(size), noise_of(build(size))

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
