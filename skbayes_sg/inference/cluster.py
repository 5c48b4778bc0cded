"""Where joblib runs chains: in threads, in processes or on a cluster."""

import joblib
from joblib.parallel import get_active_backend


def shared(value, n_jobs):
    """Return `value`, or a future of it where joblib's backend is a Dask cluster.

    The backend would send a value of this kind anew with every task. All workers hold
    it, so that one that dies takes no data along.
    """
    client = getattr(get_active_backend()[0], "client", None)
    if client is None or joblib.effective_n_jobs(n_jobs) == 1:
        return value
    (future,) = client.scatter([value], broadcast=True, hash=False)
    return future


def shares_memory():
    """Whether joblib runs tasks in threads, unless told otherwise."""
    return getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)
