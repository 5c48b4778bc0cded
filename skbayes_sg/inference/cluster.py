"""Properties of the joblib backend of a run: threads, processes or a cluster."""

import joblib
from joblib.parallel import get_active_backend


def shared(value, n_jobs):
    """Return `value`, or a future of it if joblib's backend is a Dask cluster.

    The backend would otherwise send the value again with every task. The value is
    copied to all workers, so that nothing is lost if a worker dies.
    """
    client = getattr(get_active_backend()[0], "client", None)
    if client is None or joblib.effective_n_jobs(n_jobs) == 1:
        return value
    (future,) = client.scatter([value], broadcast=True, hash=False)
    return future


def shares_memory():
    """Whether joblib's active backend runs tasks in threads of this process."""
    return getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)
