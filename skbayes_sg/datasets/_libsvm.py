"""Sparse binary classification from the LIBSVM collection."""

from io import BytesIO
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from skbayes_sg.datasets._files import RemoteFile, read_contents

_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"


class _Dataset(NamedTuple):
    n_features: int  # the last features may not occur in a file
    sha256: str
    source: str


_ADULT = """B. Becker and R. Kohavi (1996). Adult. UCI Machine Learning Repository"""
_WEB = """J. Platt (1999). Fast training of support vector machines using sequential
minimal optimization. Advances in Kernel Methods, 185-208"""
_DATASETS = {
    "a9a": _Dataset(
        123, "4a64288fba73c4362cf066e219c35663b450f1658867b7ed7bcc1f6accfc4949", _ADULT
    ),
    "a9a.t": _Dataset(
        123, "506954ec230f3de29ee7ba703521446f458e81ecc317a9661ddc10d908e9d6f0", _ADULT
    ),
    "w8a": _Dataset(
        300, "434eb5fdfe5ab0f759922fe58473326dbccaf16342ae874ac295d99322b44274", _WEB
    ),
}
_DESCR = """{}: binary classification with sparse features.

Cite: {}; as prepared in C.-C. Chang and C.-J. Lin (2011). LIBSVM: a library for support
vector machines. ACM Transactions on Intelligent Systems and Technology 2(3), 27.
"""


def fetch_libsvm(
    name: str,
    *,
    data_home: str | PathLike | None = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load a data set of the LIBSVM collection.

    Parameters
    ----------
    name : {"a9a", "a9a.t", "w8a"}
        The data set. "a9a" (32,561 x 123) and its test set "a9a.t" (16,281 x 123) ask
        whether a person's income is high; "w8a" (49,749 x 300) is a web page category.
    data_home : str or path-like, default=None
        Folder that contains the files, plain or compressed by gzip, in itself or in its
        subfolder ``libsvm``; they are downloaded there if missing. The default is the
        environment variable ``SKBAYES_SG_DATA``, or else a cache folder of the user.
    return_X_y : bool, default=False
        Whether to return only ``(data, target)``.
    download_if_missing : bool, default=True
        Whether to download a missing file; otherwise it is an error.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        `data`, a CSR matrix of shape (n_samples, n_features); `target` of shape
        (n_samples,), labels -1 and 1; `DESCR`.
    (data, target) : tuple if `return_X_y`
        The features and the labels.

    Examples
    --------
    >>> from skbayes_sg.datasets import fetch_libsvm
    >>> X, y = fetch_libsvm("a9a", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (32561, 123)
    """
    if name not in _DATASETS:
        raise ValueError(f"name must be one of {list(_DATASETS)}, got {name!r}.")
    dataset = _DATASETS[name]
    remote = RemoteFile(_URL + name, "libsvm", {name: dataset.sha256}, True)
    content = read_contents(remote, data_home, download_if_missing)[name]
    X, y = load_svmlight_file(
        BytesIO(content), n_features=dataset.n_features, zero_based=False
    )
    # Some solvers, liblinear among them, refuse the loader's 64-bit indices.
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X = csr_matrix((X.data, indices, indptr), shape=X.shape)
    y = y.astype(np.int64)
    if return_X_y:
        return X, y
    return Bunch(data=X, target=y, DESCR=_DESCR.format(name, dataset.source))
