"""Kinds of data by name; a kind makes a `Problem` from a random generator."""

from tests.truth.kinds import logistic, networks, ratings, regressions

KINDS = {
    **logistic.KINDS,
    **networks.KINDS,
    **ratings.KINDS,
    **regressions.KINDS,
}
