"""Hidden Markov models by blocks, against enumeration of all states."""

import numpy as np
import pytest

from skbayes_sg.kernels.capabilities.buffers import (
    Messages,
    blocks_of,
    selected,
    with_blocks,
)
from skbayes_sg.kernels.data.sequences import make_blocks, window
from skbayes_sg.kernels.models import hmm_messages
from skbayes_sg.kernels.models.hmm import hmm_work
from skbayes_sg.kernels.models.hmm_paths import (
    add_state_probabilities,
    sequence_log_likelihoods,
    write_best_path,
)
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    record,
    theta_of,
    thinned,
)
from tests.kernels.hidden_markov import EMISSIONS, K, enumerated, small_model

LENGTHS = (6, 3)
# Entry points run uncompiled here: data are tiny, and there are many emissions.
write_messages = hmm_messages.write_messages
write_messages = getattr(write_messages, "__wrapped__", write_messages)
passes = [
    getattr(one, "__wrapped__", one)
    for one in (sequence_log_likelihoods, add_state_probabilities, write_best_path)
]


def value_and_gradient(model, theta, rows=None):
    rows = np.arange(n_rows(model)) if rows is None else np.asarray(rows)
    g = np.zeros(theta.size)
    value = add_value_and_gradient(model, init_work(model), theta, rows, 1.0, g)
    return value, g


def anchored(inner, x):
    """Return the model with messages at x, as `with_messages` does."""
    forward, backward = np.full((2, n_rows(inner), K), 1.0 / K)
    write_messages(inner, hmm_work(inner, 1024), x, forward, backward)
    return inner._replace(messages=Messages(x, forward, backward))


@pytest.mark.parametrize("name", EMISSIONS)
def test_rows_add_up_to_the_enumerated_likelihood(name):
    model, x, law = small_model(name)
    inner = model.model
    truth = enumerated(inner.X, LENGTHS, x, law)[0]
    value, _ = value_and_gradient(inner, x)
    alone = log_likelihood(inner, init_work(inner), x, np.arange(n_rows(inner)))
    assert value == pytest.approx(truth, abs=1e-10)
    assert alone == pytest.approx(truth, abs=1e-10)


@pytest.mark.parametrize("name", EMISSIONS)
def test_gradient_is_that_of_the_enumerated_likelihood(name):
    model, x, _ = small_model(name)
    theta = theta_of(model, x)
    _, g = value_and_gradient(model, theta)
    work, out, differences = init_work(model), np.zeros_like(x), []
    for step in 1e-5 * np.eye(theta.size):
        ends = []
        for sign in (1, -1):
            record(model, work, theta + sign * step, out)
            ends.append(log_likelihood(model.model, work.inner, out, range(5)))
        differences.append((ends[0] - ends[1]) / 2e-5)
    np.testing.assert_allclose(g, differences, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", EMISSIONS)
def test_prior_gradient(name):
    model, x, _ = small_model(name)
    theta, work = theta_of(model, x), init_work(model)
    g = np.zeros(theta.size)
    add_prior_gradient(model, work, theta, g)
    differences = [
        (log_prior(model, work, theta + e) - log_prior(model, work, theta - e)) / 2e-5
        for e in 1e-5 * np.eye(theta.size)
    ]
    np.testing.assert_allclose(g, differences, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("block_length", [1, 2, 4, 6])
def test_rows_add_up_for_any_block_with_long_buffers(block_length):
    model, x, _ = small_model("diag")
    theta = theta_of(model, x)
    whole = with_blocks(model, make_blocks(LENGTHS))
    blocked = with_blocks(model, make_blocks(LENGTHS, block_length, 6))
    exact, found = value_and_gradient(whole, theta), value_and_gradient(blocked, theta)
    assert found[0] == pytest.approx(exact[0], abs=1e-10)
    np.testing.assert_allclose(found[1], exact[1], atol=1e-10)


@pytest.mark.parametrize("buffer_length", [0, 1, 2])
def test_messages_make_rows_exact_at_the_anchor_for_any_buffer(buffer_length):
    model, x, law = small_model("diag", lengths=(9, 4))
    lengths = (9, 4)
    blocks = make_blocks(lengths, 2, buffer_length)
    exact = value_and_gradient(with_blocks(model.model, make_blocks(lengths)), x)
    blocked = with_blocks(model.model, blocks)
    with_past = value_and_gradient(anchored(blocked, x), x)
    np.testing.assert_allclose(with_past[1], exact[1], atol=1e-10)
    assert with_past[0] == pytest.approx(exact[0], abs=1e-10)
    # Without messages a short buffer has a bias: the test can fail.
    assert np.abs(value_and_gradient(blocked, x)[1] - exact[1]).max() > 1e-4


def test_messages_of_some_blocks_are_those_of_all():
    model, x, _ = small_model("diag", lengths=(9, 4), buffer_length=1)
    rows = np.array([1, 3, 5])
    all_of_them = anchored(model.model, x).messages
    some = anchored(selected(model.model, rows), x).messages
    np.testing.assert_allclose(some.forward, all_of_them.forward[rows])
    np.testing.assert_allclose(some.backward, all_of_them.backward[rows])


def test_messages_of_few_blocks_need_only_the_points_near_to_them(monkeypatch):
    model, x, _ = small_model("diag", lengths=(400,), buffer_length=1)
    rows = np.array([0, 3, 90, 91, 170])
    exact = anchored(selected(model.model, rows), x).messages
    errors = []
    for reach in (6, 12, 24):
        monkeypatch.setattr(hmm_messages, "REACH", reach)
        monkeypatch.setattr(hmm_messages, "PASS", 10)
        found = anchored(selected(model.model, rows), x).messages
        backward = found.backward / found.backward.sum(axis=1, keepdims=True)
        backward -= exact.backward / exact.backward.sum(axis=1, keepdims=True)
        errors.append([abs(found.forward - exact.forward).max(), abs(backward).max()])
        np.testing.assert_allclose(found.forward[:2], exact.forward[:2], atol=1e-12)
    assert np.all(np.diff(errors, axis=0) < 0) and np.max(errors[2]) < 1e-4


def test_bias_falls_geometrically_with_the_buffer():
    model, x, _ = small_model("diag", seed=3, lengths=(40,))
    exact = value_and_gradient(with_blocks(model.model, make_blocks([40])), x)[1]
    errors = []
    for buffer_length in (0, 2, 4, 8):
        blocks = make_blocks([40], 4, buffer_length)
        g = value_and_gradient(with_blocks(model.model, blocks), x)[1]
        errors.append(np.abs(g - exact).max())
    assert np.all(np.diff(errors) < 0)
    assert errors[3] < 0.05 * errors[0]


@pytest.mark.parametrize("name", ["diag", "poisson"])
def test_paths_and_probabilities_are_the_enumerated_ones(name):
    model, x, law = small_model(name)
    inner = with_blocks(model.model, make_blocks(LENGTHS))
    total, shares, best, best_value = enumerated(inner.X, LENGTHS, x, law)
    log_likelihoods, add_probabilities, best_path = passes
    work, n = hmm_work(inner, 1024), sum(LENGTHS)
    each = np.zeros(2)
    log_likelihoods(inner, work, x, each)
    assert each.sum() == pytest.approx(total, abs=1e-10)
    out = np.zeros((n, K))
    value = add_probabilities(inner, work, x, np.empty((n, K)), 1.0, out)
    np.testing.assert_allclose(out, shares, atol=1e-10)
    assert value == pytest.approx(total, abs=1e-10)
    path = np.zeros(n, np.int64)
    value = best_path(inner, work, x, np.zeros((n, K), np.uint8), path)
    np.testing.assert_array_equal(path, best)
    assert value == pytest.approx(best_value, abs=1e-10)


def test_blocks_cover_each_point_once_and_windows_stay_inside():
    lengths = [7, 1, 12]
    blocks = make_blocks(lengths, 5, 3)
    points = np.concatenate(
        [np.arange(a, b) for a, b in zip(blocks.first, blocks.last, strict=True)]
    )
    np.testing.assert_array_equal(points, np.arange(20))
    for i in range(blocks.first.size):
        low, high = window(blocks, i)
        assert blocks.begin[i] <= low <= blocks.first[i]
        assert blocks.last[i] <= high <= blocks.end[i]
        assert low == max(blocks.begin[i], blocks.first[i] - 3)


def test_thinned_blocks_stand_for_all():
    model, x, _ = small_model("diag", lengths=(12, 8))
    theta = theta_of(model, x)
    total = np.zeros(n_parameters(model))
    for every in (1, 2):
        part = thinned(model, every)
        assert blocks_of(part).weight == every
        assert n_rows(part) == -(-10 // every)
    g = np.zeros_like(total)
    add_gradient(thinned(model, 2), init_work(model), theta, np.arange(1), 1.0, g)
    add_gradient(model, init_work(model), theta, np.arange(1), 2.0, total)
    np.testing.assert_allclose(g, total)
