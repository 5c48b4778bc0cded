"""Rows in turn, of which few take part at first."""

import numpy as np
import pytest

from skbayes_sg.kernels.capabilities.theta_blocks import draw_rows
from skbayes_sg.kernels.gradients import InTurn
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.protocol.gradient import init_memory


def rows(n, **settings):
    """Return the first n of ten rows in turn."""
    model = GaussianMean(np.zeros((10, 1)), np.eye(1))
    gradient = InTurn(**settings)
    memory = init_memory(gradient, model, np.zeros(1), None)
    size = gradient.batch_size
    drawn = [draw_rows(gradient, memory, None).copy() for _ in range(n // size)]
    return np.concatenate(drawn).tolist()


@pytest.mark.parametrize("batch_size", [1, 3, 10])
def test_all_rows_take_turns(batch_size):
    assert rows(30, batch_size=batch_size) == 3 * list(range(10))


@pytest.mark.parametrize("batch_size", [1, 4, 36])
def test_few_rows_take_part_at_first(batch_size):
    stages = [0, 4, 8] * 2 + [0, 2, 4, 6, 8] * 2 + 2 * list(range(10))
    found = rows(36, batch_size=batch_size, n_stages=2, n_first=2, n_each=2)
    assert found == stages
