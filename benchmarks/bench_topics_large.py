"""A corpus of a million documents: memory, time per sweep, and how good it gets.

Documents are generated, written to disk, and fitted memory-mapped. The perplexity of
new documents is compared with that of the topics which have generated them.
Memory is what the process allocates, without the pages of mapped documents, which the
system may drop at any time; Linux tells it.

    python benchmarks/bench_topics_large.py FOLDER [--documents 1000000] [--length 100]
"""

import argparse
import re
import threading
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from skbayes_sg import SGMCMCLatentDirichletAllocation
from skbayes_sg.datasets import make_documents
from skbayes_sg.metrics import completion_perplexity

K, W, ALPHA, BETA = 50, 10_000, 0.1, 0.05
N_TEST = 500
BLOCK = 50_000  # documents generated at a time
ITERATIONS = 200  # per sweep


def generate(folder, n_documents, length):
    """Write counts as three arrays; return topics and test documents."""
    done, topics, files = 0, None, {}
    for name in ("data", "indices", "indptr"):
        files[name] = open(folder / f"{name}.bin", "wb")
    end = np.zeros(1, np.int32)
    files["indptr"].write(end.tobytes())
    while done < n_documents:
        n = min(BLOCK, n_documents - done)
        # The same seed gives the same topics; documents come after them.
        X, topics = _documents(n, length, done, topics)
        files["data"].write(X.data.astype(np.int32).tobytes())
        files["indices"].write(X.indices.astype(np.int32).tobytes())
        files["indptr"].write((X.indptr[1:] + end).astype(np.int32).tobytes())
        end += X.nnz
        done += n
    for file in files.values():
        file.close()
    return topics, _documents(N_TEST, length, -1, topics)[0]


def _documents(n, length, seed, topics):
    """Return n documents of given topics, or of new ones, and these."""
    rng = np.random.default_rng(seed + 1)
    if topics is None:
        topics = make_documents(
            1, W, K, topic_word_prior=BETA, doc_topic_prior=ALPHA, random_state=0
        ).topics
    weights = rng.dirichlet(np.full(K, ALPHA), n)
    lengths = rng.poisson(length, n)
    cumulative = np.cumsum(topics, axis=1)
    words, rows = [], []
    per_topic = rng.multinomial(lengths, weights)
    for k in range(K):
        rows.append(np.repeat(np.arange(n, dtype=np.int32), per_topic[:, k]))
        u = rng.random(rows[-1].size) * cumulative[k, -1]
        words.append(np.searchsorted(cumulative[k], u).astype(np.int32))
    pairs = np.concatenate(rows), np.concatenate(words)
    ones = np.ones(pairs[0].size, np.int32)
    return sp.csr_array(sp.coo_array((ones, pairs), (n, W))), topics


def mapped(folder, n_documents):
    """Return the counts as a CSR array whose parts stay on disk.

    All indices have 32 bits: of two kinds, SciPy would copy one.
    """
    parts = [
        np.memmap(folder / f"{name}.bin", "i4", "r")
        for name in ("data", "indices", "indptr")
    ]
    return sp.csr_array(tuple(parts), (n_documents, W))


class PeakMemory:
    """The largest rise of the memory allocated while the body runs, in MiB."""

    def __enter__(self):
        self.rise, self.before, self.done = 0.0, self.now(), threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()

    def watch(self):
        """Look at the memory until the body is done."""
        while not self.done.wait(0.02):
            self.rise = max(self.rise, self.now() - self.before)

    @staticmethod
    def now():
        """Return the memory allocated, in MiB."""
        status = Path("/proc/self/status").read_text()
        return int(re.search(r"RssAnon:\s*(\d+)", status)[1]) / 2**10


def main():
    """Generate, fit, and compare with the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--sweeps", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--chains", type=int, default=1)
    arguments = parser.parse_args()
    folder, n = arguments.folder, arguments.documents
    folder.mkdir(parents=True, exist_ok=True)
    topics, test = generate(folder, n, arguments.length)
    X = mapped(folder, n)
    truth = completion_perplexity(test, topics + 1e-12, ALPHA)
    print(f"{n} documents, {X.sum():.4g} tokens, {X.nnz:.4g} pairs, truth {truth:.0f}")
    settings = {"doc_topic_prior": ALPHA, "topic_word_prior": BETA, "n_draws": 2}
    settings |= {"n_chains": arguments.chains, "random_state": 0}
    settings |= {"batch_size": max(1, n // ITERATIONS), "thin": ITERATIONS}
    make = SGMCMCLatentDirichletAllocation
    make(K, burn_in=1, **settings | {"batch_size": "auto", "thin": 1}).fit(X[:200])
    for sweeps in arguments.sweeps:
        model = make(K, burn_in=(sweeps - 2) * ITERATIONS, **settings)
        foretold = model.memory_needed(X) / 2**20
        began = time.process_time()
        with PeakMemory() as peak:
            model.fit(X)
        used = time.process_time() - began
        print(
            f"{sweeps} sweeps, {used / sweeps / arguments.chains:.1f} CPU s each, "
            f"foretold {foretold:.0f} MiB, memory rose by {peak.rise:.0f} MiB, "
            f"perplexity {model.perplexity(test):.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
