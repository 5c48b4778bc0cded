"""MNIST handwritten digits."""

from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from skbayes_sg.datasets._files import RemoteFile, read_contents

_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/{}.gz"
_SHA256 = {
    "train-images-idx3-ubyte": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "train-labels-idx1-ubyte": (
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "t10k-images-idx3-ubyte": (
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "t10k-labels-idx1-ubyte": (
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
}
_HEADER_BYTES = {"images": 16, "labels": 8}  # magic number, then the shape
_PARTS = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}
_DESCR = """MNIST: 60,000 training and 10,000 test images of handwritten digits.

Images are 28 x 28 gray levels, rows first, flattened to 784 features.

Cite: Y. LeCun, L. Bottou, Y. Bengio and P. Haffner (1998). Gradient-based learning
applied to document recognition. Proceedings of the IEEE 86(11), 2278-2324.
"""


def fetch_mnist(
    *,
    data_home: str | PathLike | None = None,
    subset: str = "all",
    scale: bool = True,
    as_frame: bool = False,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the MNIST handwritten digits.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder that contains the files ``train-images-idx3-ubyte.gz`` and so on, in
        itself or in its subfolder ``mnist``; they are downloaded there if missing. The
        default is the environment variable ``SKBAYES_SG_DATA``, or else a cache folder
        of the user.
    subset : {"all", "train", "test"}, default="all"
        Which images to load; "all" has the training images first.
    scale : bool, default=True
        Whether pixels are float32 in [0, 1], or the published bytes 0 to 255.
    as_frame : bool, default=False
        Whether to return pandas objects.
    return_X_y : bool, default=False
        Whether to return only ``(data, target)``.
    download_if_missing : bool, default=True
        Whether to download missing files; otherwise they are an error.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        `data` of shape (n_images, 784); `target` of shape (n_images,), the digits;
        `test_fold` of shape (n_images,), -1 for training and 0 for test images, for
        :class:`~sklearn.model_selection.PredefinedSplit`; `feature_names`;
        `target_names`; `DESCR`.
    (data, target) : tuple if `return_X_y`
        The images and their digits.

    Examples
    --------
    >>> from skbayes_sg.datasets import fetch_mnist
    >>> X, y = fetch_mnist(subset="train", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (60000, 784)
    """
    if subset not in _PARTS:
        raise ValueError(f"subset must be one of {list(_PARTS)}, got {subset!r}.")
    arrays: dict[str, list] = {"images": [], "labels": []}
    for part in _PARTS[subset]:
        for kind, n_axes in (("images", 3), ("labels", 1)):
            name = f"{part}-{kind}-idx{n_axes}-ubyte"
            remote = RemoteFile(
                _URL.format(name), "mnist", {name: _SHA256[name]}, False
            )
            content = read_contents(remote, data_home, download_if_missing)[name]
            arrays[kind].append(
                np.frombuffer(content, np.uint8, offset=_HEADER_BYTES[kind])
            )
    X = np.concatenate(arrays["images"]).reshape(-1, 784)
    y = np.concatenate(arrays["labels"]).astype(np.int64)
    if scale:
        X = X / np.float32(255)
    feature_names = [f"pixel{i}_{j}" for i in range(28) for j in range(28)]
    test_fold = np.repeat(
        [0 if part == "t10k" else -1 for part in _PARTS[subset]],
        [len(labels) for labels in arrays["labels"]],
    )
    if as_frame:
        import pandas as pd

        X = pd.DataFrame(X, columns=feature_names)
        y = pd.Series(y, name="digit")
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        test_fold=test_fold,
        feature_names=feature_names,
        target_names=[str(digit) for digit in range(10)],
        DESCR=_DESCR,
    )
