"""Families of estimators by name: how they are fitted, what their posterior is.

A family has `samplers` and `gradients` to choose from, with weights, of which `choices`
returns those that suit a problem; `fit`, which returns draws (n_chains, n_draws, q) of
the quantities to compare; and `reference`, which returns their exact moments.
"""

from tests.truth.families.logistic import LogisticFamily
from tests.truth.families.networks import ClassNetworks, NumberNetworks
from tests.truth.families.ratings import Ratings
from tests.truth.families.regressions import Counts, Numbers

FAMILIES = {
    "logistic": LogisticFamily(),
    "class networks": ClassNetworks(),
    "number networks": NumberNetworks(),
    "ratings": Ratings(),
    "counts": Counts(),
    "numbers": Numbers(),
}
