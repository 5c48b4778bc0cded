"""Methods that a search delegates to its best estimator."""

from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.utils._typing import MatrixLike


def best_has(name):
    """Return a check that the best estimator, or the unfitted one, has `name`."""

    def check(search):
        if hasattr(search, "best_estimator_"):
            getattr(search.best_estimator_, name)
        elif not search.refit:
            raise AttributeError(f"{name} needs a search with refit=True")
        else:
            getattr(search.estimator, name)
        return True

    return check


def delegate(name, returns):
    """Return a method that calls `name` of the best estimator."""

    def method(self, X: MatrixLike, **params: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X, **params)

    method.__name__ = name
    method.__doc__ = f"""Call `{name}` of the best estimator.

        Parameters
        ----------
        X : {{array-like, sparse matrix}} of shape (n_samples, n_features)
            Samples.
        **params : dict
            Further arguments of the estimator's method.

        Returns
        -------
        {returns}
        """
    return available_if(best_has(name))(method)
