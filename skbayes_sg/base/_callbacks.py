"""Callbacks during `fit`, which scikit-learn supports from version 1.9 on."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty replacement for versions of scikit-learn without callbacks."""

    def with_callbacks(method):
        """Return the method unchanged."""
        return method


N_TASKS = 100  # parts of a fit; callbacks are called after each


class FitTasks:
    """Report the progress of a fit to callbacks, which may return True to stop it."""

    def __init__(self, estimator):
        self.estimator, self.count, self.root = estimator, 0, None
        if hasattr(type(estimator), "_init_callback_context"):
            self.root = estimator._init_callback_context(max_subtasks=N_TASKS)

    def __enter__(self):
        """Begin the fit."""
        if self.root is not None:
            self.root.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def __call__(self, done, total):
        """Report `done` of `total` iterations; return whether to stop."""
        stop = False
        while self.root is not None and self.count < N_TASKS * done // total:
            self.count += 1
            task = self.root.subcontext(task_name="iterations")
            task.call_on_fit_task_begin(estimator=self.estimator)
            stop |= task.call_on_fit_task_end(estimator=self.estimator)
        return stop

    def __exit__(self, kind, *error):
        """End the fit, if it did not fail."""
        if self.root is not None and kind is None:
            self.root.call_on_fit_task_end(estimator=self.estimator)
