"""Topics against time: how well they predict words, beside other libraries.

Document completion on 10 % of the AP corpus, K = 50, alpha = 0.1, beta = 0.01, one
thread, seconds of CPU time. All topics are judged by the same evaluator,
`skbayes_sg.metrics.completion_perplexity`. Peers that are not installed are left out.
"stream" compares `partial_fit` with scikit-learn's on the same batches, epoch by epoch;
"cores" the wall time of two chains on one core and on two.

    python benchmarks/bench_topics.py FOLDER_WITH_AP [--seconds 1 4 20] [--only stream]
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from skbayes_sg import SGMCMCLatentDirichletAllocation
from skbayes_sg.metrics import completion_perplexity

K, ALPHA, BETA = 50, 0.1, 0.01
N_DRAWS = 10
PEERS = ["ours", "tomotopy", "sklearn", "stream", "cores"]


def load_ap(folder):
    """Return the corpus as CSR counts; lines are "n word:count word:count ..."."""
    lines = Path(folder, "ap.dat").read_text().splitlines()
    pairs = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    rows = np.repeat(np.arange(len(pairs)), [len(row) for row in pairs])
    columns, counts = np.array([p for row in pairs for p in row], np.int64).T
    return sp.csr_array((counts, (rows, columns)))


def split(X, seed=0):
    """Return training and test documents."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    n = X.shape[0] // 10
    return X[np.sort(order[n:])], X[np.sort(order[:n])]


def ours(train, n_sweeps, n_chains=1, n_jobs=None):
    """Return draws of topics after so many sweeps, half of them burn-in."""
    n_draws = min(N_DRAWS, n_sweeps // 2)
    thin = n_sweeps // (2 * n_draws)
    model = SGMCMCLatentDirichletAllocation(
        K,
        doc_topic_prior=ALPHA,
        topic_word_prior=BETA,
        n_chains=n_chains,
        n_jobs=n_jobs,
        n_draws=n_draws,
        thin=thin,
        burn_in=n_sweeps - n_draws * thin,
        random_state=0,
    ).fit(train)
    size = K * train.shape[1]
    return model.samples_[..., :size].reshape(-1, K, train.shape[1])


def tomotopy(train, n_sweeps):
    """Return the topics of one state, as the library gives them."""
    import tomotopy

    model = tomotopy.LDAModel(k=K, alpha=ALPHA, eta=BETA, seed=0)
    model.optim_interval = 0
    for row in range(train.shape[0]):
        one = train[[row]].tocoo()
        words = np.repeat(one.coords[1], one.data.astype(int))
        model.add_doc([str(word) for word in words])
    model.train(n_sweeps, workers=1)
    columns = np.array([int(word) for word in model.used_vocabs])
    topics = np.full((K, train.shape[1]), 1e-12)
    for k in range(K):
        topics[k, columns] = model.get_topic_word_dist(k)
    return topics


def sklearn(train, n_epochs):
    """Return the topics of online variational inference."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        K,
        doc_topic_prior=ALPHA,
        topic_word_prior=BETA,
        learning_method="online",
        max_iter=n_epochs,
        random_state=0,
    )
    return model.fit(train).components_


def measure(name, run, train, test, seconds):
    """Print perplexity and time, for lengths that take about so many seconds.

    Sweeps are timed without what comes before and after them, by two lengths.
    """
    run(train, 2)  # compile
    used = [_seconds(run, train, n)[0] for n in (5, 25)]
    each = max((used[1] - used[0]) / 20, 1e-3)
    for limit in seconds:
        n = max(1, round((limit - used[0]) / each) + 5)
        spent, topics = _seconds(run, train, n)
        value = completion_perplexity(test, topics, ALPHA)
        sweep = 1e3 * (spent - used[0]) / max(1, n - 5)
        line = f"{name:10} {n:5d} sweeps {spent:6.1f} s {sweep:6.1f} ms per sweep"
        print(f"{line}  perplexity {value:.0f}", flush=True)


def _seconds(run, train, n_sweeps):
    """Return the CPU time of a run, and its topics."""
    began = time.process_time()
    topics = run(train, n_sweeps)
    return time.process_time() - began, topics


def stream(train, test, n_epochs=3, size=128):
    """Print perplexity and time of `partial_fit`, ours and scikit-learn's."""
    from sklearn.decomposition import LatentDirichletAllocation

    settings = {"doc_topic_prior": ALPHA, "topic_word_prior": BETA, "random_state": 0}
    settings |= {"total_samples": train.shape[0]}
    SGMCMCLatentDirichletAllocation(K, **settings).partial_fit(train[:2])  # compile
    for name, model in (
        ("ours", SGMCMCLatentDirichletAllocation(K, n_chains=1, **settings)),
        ("sklearn", LatentDirichletAllocation(K, **settings)),
    ):
        rng, seen, used, marks = np.random.default_rng(0), 0, 0.0, [1, 2, 4, 8]
        for _ in range(n_epochs):
            order = rng.permutation(train.shape[0])
            for batch in np.array_split(order, max(1, order.size // size)):
                X = train[batch]
                began = time.process_time()
                model.partial_fit(X)
                used += time.process_time() - began
                seen += len(batch)
                done = seen / train.shape[0]
                if round(seen / size) in marks or done == int(done):
                    value = completion_perplexity(test, model.components_, ALPHA)
                    line = f"stream {name:8} {seen:6d} documents {used:6.2f} s"
                    print(f"{line}  perplexity {value:.0f}", flush=True)


def cores(train, n_sweeps=60, repeats=10):
    """Print the wall time of two chains, one after the other and at the same time.

    The least of some repeats each, in turns, because other work disturbs both.
    """
    ours(train, 2, 2)  # compile
    used = {1: np.inf, 2: np.inf}
    for _ in range(repeats):
        for n_jobs in used:
            began = time.perf_counter()
            ours(train, n_sweeps, 2, n_jobs)
            used[n_jobs] = min(used[n_jobs], time.perf_counter() - began)
    line = f"cores      two chains of {n_sweeps} sweeps: {used[1]:.2f} s on one core, "
    print(f"{line}{used[2]:.2f} s on two, {used[1] / used[2]:.2f} times as fast")


def main():
    """Run the comparison."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="folder of ap.dat")
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 4, 20])
    parser.add_argument("--only", nargs="+", default=PEERS)
    arguments = parser.parse_args()
    train, test = split(load_ap(arguments.folder))
    if "stream" in arguments.only:
        stream(train, test)
    if "cores" in arguments.only:
        cores(train)
    for run in (ours, tomotopy, sklearn):
        if run.__name__ in arguments.only:
            try:
                measure(run.__name__, run, train, test, arguments.seconds)
            except ImportError as error:
                print(f"{run.__name__}: {error}")


if __name__ == "__main__":
    main()
