"""Search for step sizes and other settings by kernel Stein discrepancy."""

import time
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import last_step
from skbayes_sg.inference.control import Control
from skbayes_sg.model_selection._candidates import (
    MIN_ITER,
    chain_lengths,
    check_candidates,
    evaluate,
    ksd_arguments,
    leaders_and_followers,
    seeded,
    sharing_groups,
    usual_draws,
)
from skbayes_sg.model_selection._delegation import best_has, delegate
from skbayes_sg.model_selection._results import format_results, report_failures
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_auto,
    check_integer,
    check_n_jobs,
    check_option,
)

# Multiples of the automatic step size, from slow mixing to bias or divergence.
DEFAULT_GRID = 2.0 ** np.arange(-5, 5)
# Halving: the best third of the candidates advances to the next rung, with four times
# the iterations. The last two (`FINALISTS`) get the full length. With 20 candidates
# this costs as much as 5 full runs instead of 20.
KEEP, GROWTH, FINALISTS = 3, 4, 2


class KSDStepSizeSearch(MetaEstimatorMixin, BaseEstimator):
    """Choose the step size, and more, by kernel Stein discrepancy (KSD).

    This is the counterpart of :class:`~sklearn.model_selection.GridSearchCV` for
    samplers. Every candidate samples the posterior given all data, for the same number
    of iterations, and the draws that represent this posterior best win. With a small
    step size chains explore too little in that time, with a large one they are biased;
    the discrepancy detects both. Held-out data are not used. Parameters that change the
    posterior, such as the prior variance or earlier steps of a pipeline, cannot be
    tuned, because discrepancies from different posteriors cannot be compared.

    Parameters
    ----------
    estimator : estimator
        An estimator of this package, or a :class:`~sklearn.pipeline.Pipeline` that ends
        in one. It must keep its draws. Its `checkpoint` is only used for the refit.
    param_grid : dict or list of dict, default=None
        Candidates, as for :class:`~sklearn.model_selection.GridSearchCV`: parameter
        names, ``"step__step_size"`` for the step of a pipeline, and lists of values.
        None tries ten step sizes, from 1/32 to 16 times the automatic one.
    strategy : {"grid", "halving"}, default="grid"
        "grid" samples every candidate for the full length. "halving" samples all of
        them briefly, the best third four times as long, and so on; the last two get
        the full length.
    n_iter : int, default=None
        Iterations of each chain after burn-in. None is ``n_draws * thin`` of the
        estimator; if `thin` is "auto", the estimator is fitted once with the automatic
        step size to find it. At most `n_draws` draws are kept. Burn-in is added: as
        set, or a tenth if it is "auto".
    ksd_params : dict, default=None
        Arguments of the estimator's `ksd`, for instance ``{"batch_size": 1000}`` to
        estimate gradients instead of computing them from all rows. Do not combine this
        with ``statistic="u"``: errors of gradients may make it negative, most of all
        for the widest draws, which would then win.
    n_jobs : int, default=None
        Number of candidates sampled at the same time, on any backend of joblib. The
        results do not depend on it.
    refit : bool or callable, default=True
        Fit an estimator with the best parameters and its own `n_draws`, `thin` and
        `burn_in`. A callable takes `cv_results_` and returns the index of the best
        candidate.
    error_score : "raise" or number, default=np.nan
        Score of a candidate that diverges or fails. It ranks last for any score. If all
        candidates fail, the error of the first is raised.
    verbose : int, default=0
        1 prints how many candidates are sampled, 2 also each result.
    random_state : int, RandomState instance or None, default=None
        Seed of every `random_state` of the estimator that is None. All candidates use
        the same seed, the refit another one.

    Attributes
    ----------
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Results that can be converted to a :class:`pandas.DataFrame`. ``params`` and
        ``param_*`` are the candidates. ``ksd``, ``ksd_floor`` (see
        :func:`~skbayes_sg.metrics.ksd_floor`) and ``ess``, the smallest effective
        sample size of any parameter (NaN unless arviz-stats is installed: ``pip install
        arviz-stats``), are those of the longest run of each candidate. ``status`` is
        "ok", "diverged" or "failed". ``iter`` is the last rung of halving that a
        candidate reached, from 0. ``n_iter``, ``mean_fit_time`` and ``mean_score_time``
        are the iterations of each chain and the seconds of all its runs.
        ``mean_test_score`` is minus `ksd`, so that greater is better, and
        ``rank_test_score`` its rank, with later rungs first. The other names of
        GridSearchCV exist too, for one split.
    best_index_ : int
        Index of the best candidate.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its score, minus the discrepancy. Not available if `refit` is a callable.
    best_estimator_ : estimator
        Fitted with the best parameters. Only if `refit` is not False.
    refit_time_ : float
        Seconds of that fit.
    n_candidates_ : int
        Number of candidates.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string column names.
    classes_ : ndarray of shape (n_classes,)
        Class labels of a classifier.

    See Also
    --------
    KSDSearchDisplay : Plot of the results.

    References
    ----------
    .. [1] J. Coullon, L. South and C. Nemeth, "Efficient and generalizable tuning
       strategies for stochastic gradient MCMC", Statistics and Computing 33, 2023.

    Examples
    --------
    >>> from skbayes_sg import KSDStepSizeSearch, SGLDLogisticRegression
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 3, random_state=0)
    >>> search = KSDStepSizeSearch(
    ...     SGLDLogisticRegression(sampler="sgld", n_draws=200),
    ...     {"step_size": [0.01, 0.3, 3.5]},
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_
    {'step_size': 0.3}
    >>> search.predict_proba(X[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        estimator,
        param_grid=None,
        *,
        strategy="grid",
        n_iter=None,
        ksd_params=None,
        n_jobs=None,
        refit=True,
        error_score=np.nan,
        verbose=0,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.strategy = strategy
        self.n_iter = n_iter
        self.ksd_params = ksd_params
        self.n_jobs = n_jobs
        self.refit = refit
        self.error_score = error_score
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Sample with every candidate, and fit the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Training data. None is for models that have their data, or other columns.
        y : array-like of shape (n_samples,), default=None
            Targets.
        **params : dict
            Arguments of the estimator's `fit`, such as `sample_weight`.

        Returns
        -------
        self : object
            The fitted search.
        """
        self._check_parameters()
        with all_or_nothing(self):
            X, y = indexable(X, y)
            if params and get_config()["enable_metadata_routing"]:
                params = process_routing(self, "fit", **params).estimator.fit
            seeds = check_random_state(self.random_state).randint(2**31, size=2)
            seed, refit_seed = seeds.tolist()
            base = seeded(self.estimator, seed)
            last, prefix = last_step(base)
            if last.checkpoint is not None:  # candidates would overwrite each other's
                base.set_params(**{f"{prefix}checkpoint": None})
            candidates, n_iter = self._plan(base, X, y, params)
            self.n_candidates_ = len(candidates)
            self.cv_results_ = self._run(base, candidates, n_iter, X, y, params)
            self._choose(candidates)
            if self.refit is not False:
                best = seeded(self.estimator, refit_seed)
                best.set_params(**clone(self.best_params_, safe=False))
                start = time.perf_counter()
                self.best_estimator_ = best.fit(X, y, **params)
                self.refit_time_ = time.perf_counter() - start
        return self

    def _check_parameters(self):
        check_option("strategy", self.strategy, ("grid", "halving"))
        if self.n_iter is not None:
            check_integer("n_iter", self.n_iter, at_least=MIN_ITER)
        check_n_jobs(self.n_jobs)
        if not (isinstance(self.refit, bool | np.bool_) or callable(self.refit)):
            raise TypeError(f"refit={self.refit!r} must be True, False or a callable")
        if self.error_score != "raise" and not isinstance(self.error_score, Real):
            raise TypeError(
                f'error_score={self.error_score!r} must be "raise" or a number'
            )
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, at_least=0)
        if not (self.ksd_params is None or isinstance(self.ksd_params, dict)):
            raise TypeError(f"ksd_params={self.ksd_params!r} must be None or a dict")
        check_integer("max_draws", self._ksd_params["max_draws"], at_least=2)
        last, _ = last_step(self.estimator)
        if last.keep != "draws":
            raise ValueError(
                f"keep={last.keep!r} of the estimator leaves no draws to compare; use "
                'keep="draws" in a search, and any value in a fit with the result'
            )
        check_integer("n_draws", usual_draws(last), at_least=1)
        check_auto("thin", last.thin, check_integer, at_least=1)
        check_auto("burn_in", last.burn_in, check_integer, at_least=0)

    @property
    def _ksd_params(self):
        return {"max_draws": 1000, **(self.ksd_params or {})}

    def _plan(self, base, X, y, params):
        """Return the candidates, and the iterations of each after burn-in."""
        last, prefix = last_step(base)
        candidates, n_iter = None, self.n_iter
        if self.param_grid is not None:
            candidates = list(ParameterGrid(self.param_grid))
            if not candidates:
                raise ValueError(
                    f"param_grid={self.param_grid!r} contains no candidate; give at "
                    "least one, or None"
                )
            check_candidates(candidates, base, prefix)
        if n_iter is None and last.thin != "auto":
            n_iter = usual_draws(last) * last.thin
        if candidates is not None and n_iter is not None:
            return candidates, n_iter
        # The pilot has the length of the candidates, on which the step size depends.
        length = {} if n_iter is None else chain_lengths(base, n_iter, 1.0)
        automatic = {f"{prefix}step_size": "auto"}
        if candidates is None:
            pilot = clone(base).set_params(**length, **automatic).fit(X, y, **params)
            last, _ = last_step(pilot)
            steps = (last.step_size_ * DEFAULT_GRID).tolist()
            candidates = [{f"{prefix}step_size": h} for h in steps]
            return candidates, n_iter or usual_draws(last) * last.thin_
        for candidate in candidates:  # the first that does not fail sets the length
            pilot = clone(base)
            try:
                pilot.set_params(**{**clone(candidate, safe=False), **automatic})
                last, _ = last_step(pilot.fit(X, y, **params))
                return candidates, last.n_draws * last.thin_
            except Exception:
                if isinstance(self.error_score, str):
                    raise
        return candidates, last.n_draws

    def _run(self, base, candidates, n_iter, X, y, params):
        """Sample the candidates of each rung; return `cv_results_`."""
        rows = [{} for _ in candidates]
        running = list(range(len(candidates)))
        groups = sharing_groups(candidates, f"{last_step(base)[1]}step_size")
        memories = {group: {} for group in groups}
        control = Control()
        with control.all_or_none(), Parallel(n_jobs=self.n_jobs) as parallel:
            for rung, (size, share) in enumerate(self._rungs(len(candidates))):
                running = sorted(running, key=lambda i: rows[i].get("ksd", 0))[:size]
                length = chain_lengths(base, n_iter, share)
                if self.verbose:
                    print(f"Sampling {len(running)} candidates: {length}", flush=True)
                for some in (
                    leaders_and_followers(running, groups) if rung == 0 else [running]
                ):
                    results = parallel(
                        delayed(evaluate)(
                            base,
                            length,
                            candidates[i],
                            memories[groups[i]],
                            X,
                            y,
                            params,
                            ksd_arguments(self._ksd_params, share),
                            self.error_score,
                            self.verbose,
                            control,
                        )
                        for i in some
                    )
                    for i, (result, memory) in zip(some, results, strict=True):
                        for name in ("fit_time", "score_time", "n_iter"):
                            result[name] += rows[i].get(name, 0)
                        rows[i] = {**result, "iter": rung}
                        memories[groups[i]].update(memory)
                running = [i for i in running if rows[i]["status"] == "ok"]
        report_failures(rows)
        return format_results(candidates, rows, self.error_score)

    def _rungs(self, n_candidates):
        """Return the number of candidates and the share of the length of each rung."""
        sizes = [n_candidates]
        while self.strategy == "halving" and sizes[-1] > FINALISTS:
            sizes.append(max(FINALISTS, round(sizes[-1] / KEEP)))
        return [(n, GROWTH ** (k + 1.0 - len(sizes))) for k, n in enumerate(sizes)]

    def _choose(self, candidates):
        results = self.cv_results_
        if callable(self.refit):
            index = self.refit(results)
            if not isinstance(index, Integral) or not 0 <= index < len(candidates):
                raise ValueError(
                    f"refit returned {index!r}; it must return the index of one of the "
                    f"{len(candidates)} candidates"
                )
        else:
            index = results["rank_test_score"].argmin()
            self.best_score_ = float(results["mean_test_score"][index])
        self.best_index_ = int(index)
        self.best_params_ = candidates[self.best_index_]

    predict = delegate("predict", "y : ndarray of shape (n_samples,)")
    predict_proba = delegate(
        "predict_proba", "proba : ndarray of shape (n_samples, n_classes)"
    )
    predict_log_proba = delegate(
        "predict_log_proba", "log_proba : ndarray of shape (n_samples, n_classes)"
    )
    predict_proba_samples = delegate(
        "predict_proba_samples",
        "proba : ndarray of shape (n_chains, n_draws, n_samples, n_classes)",
    )
    decision_function = delegate(
        "decision_function", "decision : ndarray of shape (n_samples,)"
    )
    transform = delegate(
        "transform", "X_new : ndarray of shape (n_samples, n_components)"
    )

    @available_if(best_has("score"))
    def score(self, X: MatrixLike, y: ArrayLike | None = None, **params: Any) -> float:
        """Call `score` of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), default=None
            Targets.
        **params : dict
            Further arguments of the estimator's method.

        Returns
        -------
        score : float
            Score of the predictions, as the estimator defines it.
        """
        check_is_fitted(self)
        return self.best_estimator_.score(X, y, **params)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.estimator_type = of_estimator.estimator_type
        tags.classifier_tags = of_estimator.classifier_tags
        tags.regressor_tags = of_estimator.regressor_tags
        tags.input_tags = of_estimator.input_tags
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of the arguments of `fit` to the estimator's `fit`.

        Returns
        -------
        routing : MetadataRouter
            A :class:`~sklearn.utils.metadata_routing.MetadataRouter`.
        """
        return MetadataRouter(owner=self).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def _of_best(self, name):
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before a refit")
        return getattr(self.best_estimator_, name)

    @property
    def n_features_in_(self):
        """Number of features."""
        return self._of_best("n_features_in_")

    @property
    def feature_names_in_(self):
        """Names of the features."""
        return self._of_best("feature_names_in_")

    @property
    def classes_(self):
        """Class labels."""
        return self._of_best("classes_")
