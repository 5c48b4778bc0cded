"""Recommenders that were pickled before choices, sets and cut points were there."""

import numpy as np

from skbayes_sg.decomposition._rating_model import Layout, Ratings
from skbayes_sg.inference.rating_levels import Levels


def brought_up_to_date(state):
    """Return the state of an unpickled recommender as it would be today.

    The ratings themselves were not kept, only which pairs had one.
    """
    state = {
        "feedback": "ratings",
        "unobserved_weight": 1.0,
        "implicit_sets": False,
        "context": None,
        "context_labels_": [],
        "_context": [],
        **state,
    }
    if "_seen" not in state:
        return state
    indptr, items = state.pop("_seen")
    d, q, n_user_features, dof = state["_layout"]
    sizes, levels = (len(state["users_"]), len(state["items_"])), state["classes_"]
    rest = state["samples_"].shape[-1] - (sum(sizes) + 4) * q - 1 - sum(sizes)
    cuts = 0.5 * (levels[1:] + levels[:-1]) - state["mean_rating_"]
    users = np.repeat(np.arange(sizes[0]), np.diff(indptr))
    unknown = np.full(len(items), np.nan)
    state.update(
        _layout=Layout(
            d, q, (n_user_features, rest // q - n_user_features), False, dof
        ),
        _ratings=Ratings(
            (users, np.asarray(items)), unknown, None, np.zeros((len(items), 0)), sizes
        ),
        _levels=Levels(cuts, np.full(len(levels), 1.0 / len(levels)), 0.0),
        cut_points_=state["mean_rating_"] + cuts,
        has_implicit_sets_=False,
    )
    return state
