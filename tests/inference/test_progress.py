"""The notice of long runs, from the speed of their first chunks."""

import pytest

from skbayes_sg.inference import progress
from skbayes_sg.inference.progress import Bar, Progress


@pytest.fixture
def clock(monkeypatch):
    """Return a list whose last number is the time."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[-1])
    return now


def advance(run, clock, seconds):
    clock.append(clock[-1] + seconds)
    run.update(10)


@pytest.mark.parametrize("total, said", [(400, 0), (10_000, 1)], ids=["40 s", "1000 s"])
def test_long_runs_are_announced_once(clock, caplog, total, said):
    run = Progress(total, Bar(False))
    advance(run, clock, 100.0)  # to compile
    for _ in range(5):
        advance(run, clock, 1.0)
    assert caplog.text.count("about 17 minutes") == said == len(caplog.records)


def test_a_bar_says_enough(clock, caplog, capsys):
    run = Progress(10_000, Bar(True))
    for _ in range(5):
        advance(run, clock, 1.0)
    assert caplog.text == ""
