"""Data sets: simulated data with known parameters, and loaders of public data."""

from skbayes_sg.datasets._documents import make_documents
from skbayes_sg.datasets._generators import make_logistic, make_ratings
from skbayes_sg.datasets._graphs import fetch_network, make_graph
from skbayes_sg.datasets._lfr import make_lfr_graph
from skbayes_sg.datasets._libsvm import fetch_libsvm
from skbayes_sg.datasets._mnist import fetch_mnist
from skbayes_sg.datasets._movielens import fetch_movielens_100k

__all__ = [
    "fetch_libsvm",
    "fetch_mnist",
    "fetch_movielens_100k",
    "fetch_network",
    "make_documents",
    "make_graph",
    "make_lfr_graph",
    "make_logistic",
    "make_ratings",
]
