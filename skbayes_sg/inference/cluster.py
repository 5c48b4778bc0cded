"""What all chains share, on a cluster: sent once, and kept by every worker."""

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
