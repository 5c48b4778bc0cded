"""The base class of all estimators whose parameters are posterior draws."""

import contextlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_random_state

from skbayes_sg.base._callbacks import CallbackSupportMixin, FitTasks
from skbayes_sg.base._diagnostics import DiagnosticsMixin
from skbayes_sg.base._docstrings import inherit_docstring
from skbayes_sg.base._saving import VersionedMixin
from skbayes_sg.base._warnings import warn_of_errors, warn_of_mixing, warn_of_step
from skbayes_sg.inference.exploration import Settings, for_diagnostics
from skbayes_sg.inference.fitting import Job, fit_chains, inside_search
from skbayes_sg.inference.moments import Moments
from skbayes_sg.inference.monitoring import MIN_DRAWS, look_at
from skbayes_sg.inference.progress import Bar
from skbayes_sg.inference.storage import KEPT
from skbayes_sg.kernels.compiling import announced
from skbayes_sg.kernels.gradients import GRADIENTS
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

PRECONDITIONERS = ("auto", "dense", "diagonal", "none")


class _NoDraws:
    """Descriptor that explains a missing `samples_`."""

    def __get__(self, estimator, owner=None):
        if estimator is not None and "moments_" in vars(estimator):
            raise AttributeError(
                f"{owner.__name__} has no samples_, nor methods that need them, "
                'because keep="moments" and keep="variances" keep no draws. Fit it '
                'with keep="draws"'
            )
        raise AttributeError(f"{owner.__name__!r} object has no attribute 'samples_'")


class BaseSGMCMC(CallbackSupportMixin, DiagnosticsMixin, VersionedMixin, BaseEstimator):
    """Base of estimators whose parameters are posterior draws.

    A subclass lists its parameters in its own constructor. Its `fit` validates the
    data, builds a model, calls `_sample_posterior` and sets its own attributes.
    `_default_sampler` is the sampler of ``sampler=None``. `_sampler_kinds` lists the
    types of samplers that the class accepts; None accepts any.

    Parameters
    ----------
    step_size : float or "auto"
        Step size h: a step moves by h/2 times the gradient and adds noise of variance
        h, in the units of the preconditioner. `fit` warns if it is above the limit of
        stability.
    gradient : str or gradient estimator
        One of `skbayes_sg.kernels.gradients.GRADIENTS`, for instance "full",
        "minibatch" or "cv".
    batch_size : int or "auto"
        Rows per gradient estimate.
    preconditioner : {"auto", "dense", "diagonal", "none"}
        Coordinates in which the sampler moves.
    n_draws : int
        Draws kept of each chain.
    burn_in : int or "auto"
        Iterations before the first draw.
    thin : int or "auto"
        Iterations per draw.
    n_chains : int
        Independent chains.
    schedule : {"constant", "polynomial", "cyclical"}
        How the step size changes with the iterations. Averages weight each draw by its
        step size.
    temperature : float
        Temperature T of the likelihood, which is raised to the power of 1 / T; the
        prior is not.
    noise_correction : bool
        Reduce the injected noise by the variance that the minibatches add, which is
        estimated while the chains run.
    sampler : str, sampler or None
        One of `skbayes_sg.kernels.samplers.SAMPLERS`. None is the default of the class,
        or Metropolis-adjusted trajectories ("hmc") where the data are few and the
        posterior is so skewed that these take far fewer gradients; see `sampler_`.
    dtype : {"float32", "float64"}
        Type of the parameters and of all computations.
    storage : path or None
        Folder for memory-mapped draws, if there are too many for memory.
    storage_dtype : {"float16", "float32", "float64"} or None
        Type in which draws are kept; None is that of the computations.
    keep : {"draws", "moments", "variances"}
        What is kept of the draws. "moments" keeps no draws: their mean and covariance
        are computed while the chains run, in memory that does not depend on `n_draws`,
        and predictions average over the Gaussian with these moments. "variances" does
        the same without correlations, for many parameters. In both cases `samples_` and
        the methods that need draws, such as `summary` and `ksd`, raise an error.
    warm_start : bool
        Continue from where the chains of the last fit ended. With the same data and
        settings, the chains continue as if they had not stopped; otherwise they start
        at the last draws. An interrupted fit then keeps the draws made so far.
    checkpoint : path or None
        Folder to which the chains are written every few seconds. After a crash, the
        same fit continues from there and ends with the same draws; it needs an integer
        `random_state`.
    n_jobs : int or None
        Number of chains that run at the same time. The draws do not depend on it.
    random_state : int, RandomState instance or None
        Seed of the chains.
    verbose : int
        If positive, show a progress bar. Without one, the logger "skbayes_sg" says if
        the fit will take more than a minute.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws.
    step_size_, batch_size_, burn_in_, thin_, n_iter_ : float and int
        The settings used, and the iterations of each chain.
    sampler_ : NamedTuple
        The sampler as it ran, with its constants.
    mode_ : ndarray of shape (n_parameters,)
        The posterior mode, or the point from which the first chain started.
    gradient_noise_ratio_ : float
        Largest ratio of the variance that the gradient estimates add to a step to the
        variance that the sampler injects.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string column names.
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = None
    _automatic = ()  # "temperature" and "n_draws", where these may be "auto"
    # Settings that a fit has chosen in the place of automatic ones, by name.
    _decided: Mapping[str, Any] = MappingProxyType({})
    # Defaults for classes whose constructors do not have these parameters.
    checkpoint = storage_dtype = None
    keep = "draws"
    samples_ = _NoDraws()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        inherit_docstring(cls)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "samples_") or hasattr(self, "moments_")

    def __getstate__(self):
        # The model refers to the training data, which pickles do not include.
        state = dict(super().__getstate__())
        state.pop("_model", None)
        fit = state.pop("_fit", None)
        if fit is not None and fit.total is not None:  # a stream continues
            state["_fit"] = fit.without_data()
        return state

    def _check_sampling(self):
        """Validate the parameters that all estimators share; return the sampler."""
        check_auto("step_size", self.step_size, check_number, above=0)
        check_auto("batch_size", self.batch_size, check_integer, at_least=1)
        check_auto("burn_in", self.burn_in, check_integer, at_least=0)
        check_auto("thin", self.thin, check_integer, at_least=1)
        self._check_chosen("n_draws", check_integer, at_least=1)
        check_integer("n_chains", self.n_chains, at_least=1)
        check_option("preconditioner", self.preconditioner, PRECONDITIONERS)
        check_option("schedule", self.schedule, SCHEDULES)
        self._check_chosen("temperature", check_number, above=0)
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

    def _check_chosen(self, name, check, **limits):
        """Validate a parameter that is automatic in some classes."""
        if name in self._automatic:
            check_auto(name, getattr(self, name), check, **limits)
        else:
            check(name, getattr(self, name), **limits)

    @property
    def _settings(self):
        """The settings of a run, by the names of the parameters."""
        given = {name: getattr(self, name) for name in Settings._fields}
        return Settings(**given | self._decided)

    def _entropy(self):
        """Return numbers from which all seeds of a fit are made."""
        return check_random_state(self.random_state).randint(2**31, size=4).tolist()

    @contextlib.contextmanager
    def _job(self, sampler):
        """Yield the job of a fit, with its progress bar and callbacks."""
        bar = Bar(bool(self.verbose))
        with bar, FitTasks(self) as tasks, announced():
            is_default = self.sampler is None
            settings, entropy = self._settings, self._entropy()
            yield Job(sampler, settings, entropy, tasks, bar, is_default)

    def _sample_posterior(self, model, sampler, start=None):
        """Run the chains, and set what they have learned; return the `Fit`.

        `start` holds recorded draws to start from, by default those of the last fit.
        """
        previous = vars(self).get("_fit") if self.warm_start else None
        start = self._last_draws() if start is None else start
        with self._job(sampler) as job:
            fit = fit_chains(model, job, previous, start)
        self._set_learned(fit)
        self._warn_of_draws(fit)
        return fit

    def _set_learned(self, fit, draws=None, step_sizes=None):
        """Set what all estimators learn from a fit."""
        found, info = fit.found, fit.info
        self._model = for_diagnostics(fit.model)
        self.mode_, self.sampler_ = found.mode, found.sampler
        self.step_size_, self.batch_size_ = found.step_size, fit.batch_size
        self.burn_in_, self.thin_ = found.burn_in + found.spent, found.thin
        self.n_iter_ = info.n_iter + found.spent
        self.gradient_noise_ratio_ = fit.gradient_noise_ratio
        self.sampler_stats_ = info.stats
        self._set_draws(
            fit.draws if draws is None else draws,
            info.step_sizes if step_sizes is None else step_sizes,
        )
        continues = self.warm_start and info.chains is not None
        self._fit = fit if continues or fit.total is not None else None

    def _warn_of_unstable_steps(self, fit):
        """Warn of steps that the user has set too large; return whether they are."""
        # A search detects instability itself.
        is_own = self.step_size != "auto" and not inside_search()
        is_unstable = is_own and fit.has_unstable_steps
        if is_unstable:
            warn_of_step(self.step_size, fit.found.step_limit)
        return is_unstable

    def _warn_of_draws(self, fit):
        """Warn if the draws should not be used, whoever has chosen the settings.

        A few draws at steps or a thinning of the user's own are a trial.
        """
        if self._warn_of_unstable_steps(fit) or inside_search():
            return
        if fit.interrupt is not None or self.keep != "draws":
            return
        is_automatic = self.step_size == "auto"
        is_trial = not (is_automatic and self.thin == "auto")
        if is_trial and fit.draws.shape[1] < MIN_DRAWS:
            return
        mixing = look_at(fit.found.model, fit.draws)
        if mixing.failed:
            self._warn_of_mixing(mixing, is_automatic)
        elif fit.errors.found:
            warn_of_errors(fit.errors, is_automatic)

    def _warn_of_mixing(self, mixing, is_automatic):
        """Say how the chains disagree, and what to do."""
        warn_of_mixing(mixing, self.n_chains, is_automatic)

    def _set_draws(self, draws, step_sizes):
        """Set draws with their weights, or the moments of draws that are not kept."""
        for name in ("samples_", "draw_weights_", "moments_"):
            vars(self).pop(name, None)
        if isinstance(draws, Moments):
            self.moments_ = draws
        else:
            self.samples_ = draws
            self.draw_weights_ = step_sizes / step_sizes.sum()

    def _finished(self, fit):
        """Return self, or raise the interrupt after which these draws were kept."""
        if fit.interrupt is not None:
            raise fit.interrupt
        return self

    def _last_draws(self):
        """Return the last draw of each chain, if this fit is to start there."""
        if self.warm_start and "samples_" in vars(self):
            return self._draws[:, -1]
        return None

    @property
    def _draws(self):
        """All that the chains recorded, (n_chains, n_draws, dim)."""
        return self.samples_

    def _flat_draws(self):
        """Return all draws of all chains, (n_chains * n_draws, dim)."""
        return self._draws.reshape(-1, self._draws.shape[-1])

    def _flat_weights(self):
        """Return the weights of `_flat_draws` in averages; they sum to one."""
        return np.tile(self.draw_weights_, len(self._draws)) / len(self._draws)


def likelihood_weights(weights, temperature, n, factor=1.0):
    """Return the factor of each row's log-likelihood; empty if all are 1.

    Parameters
    ----------
    weights : ndarray of shape (n,) or None
        Sample weights.
    temperature : float
        Temperature of the likelihood.
    n : int
        Number of rows.
    factor : float, default=1.0
        A further factor of all rows.
    """
    factor = factor / temperature
    if weights is None:
        return np.empty(0) if factor == 1.0 else np.full(n, factor)
    return weights if factor == 1.0 else factor * weights
