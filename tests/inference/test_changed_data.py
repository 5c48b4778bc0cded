"""Data that change under a fit: an error in words, and nothing that is fitted."""

import numpy as np
import pytest

from skbayes_sg import DivergenceError, SGLDLogisticRegression
from skbayes_sg.inference import running
from skbayes_sg.inference.curvature import whitening
from tests.inference.test_checkpoints import data


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("n_chunks", [0, 1, 20, 400])
def test_values_written_into_X(monkeypatch, n_chunks, value):
    """Sooner or later in the chains; the input is not copied, so they see it."""
    X, y = data()
    run_chain, count = running.run_chain, []

    def destroyed(*args):
        count.append(1)
        if len(count) > n_chunks:
            X[:100] = value
        return run_chain(*args)

    monkeypatch.setattr(running, "run_chain", destroyed)
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    settings = dict(n_draws=200, n_chains=2, random_state=0, gradient="minibatch")
    model = SGLDLogisticRegression(step_size=0.1, **settings)
    with pytest.raises((DivergenceError, ValueError)) as caught:
        model.fit(X, y)
    assert len(str(caught.value).split()) > 10
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_the_search_for_the_mode_meets(value):
    with pytest.raises(ValueError, match="not finite .*do not write to X"):
        whitening(np.array([[1.0, value], [value, 1.0]]))
