"""Held-out links of networks of co-authors, and overlapping communities of LFR.

Protocol of Li, Ahn & Welling (2016): a share of the links and as many pairs without one
are held out; the score is minus the mean log probability, averaged over draws before
the logarithm. Their traces end at 1.500 after 9,130 s (hepph, K = 30) and 2.041 after
31,477 s (grqc, K = 50), with 1 % held out; SVI at 1.771 and 2.757. AUC is compared with
Adamic & Adar's index of common neighbors.

    python benchmarks/bench_communities.py FOLDER
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score, roc_auc_score

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import fetch_network, make_graph
from skbayes_sg.datasets._graphs import adjacency_of

# Network: communities, share held out, sweeps of burn-in, draws, thinning, settings.
# Single chains of networks with many small groups stay where some groups are merged, so
# that several predict links better; their means order pairs with little in common.
MANY = {"keep": "variances", "n_chains": 4}
RUNS = {
    "hepph": [(30, 0.01, 20, 4, 4, {}), (250, 0.1, 30, 25, 1, MANY | {"n_chains": 8})],
    "grqc": [(50, 0.01, 100, 20, 10, {})],
    "netscience": [(300, 0.1, 100, 100, 1, MANY)],
    "lfr": [(28, 0.1, 100, 100, 1, {"n_chains": 2})],
}
LFR_SEEDS = range(100, 105)  # none of those that chose how chains start


def load(name, folder):
    """Return the adjacency matrix, and the labels of the nodes."""
    if name != "lfr":
        data = fetch_network(name, data_home=folder, download_if_missing=False)
        return data.adjacency, data.nodes
    pairs = np.loadtxt(Path(folder, "networks", "LFR-network-n1000-k28.txt"), int)
    nodes, places = np.unique(pairs, return_inverse=True)
    return adjacency_of(places.reshape(-1, 2), nodes.size), nodes


def hold_out(adjacency, share, seed=0):
    """Return pairs of nodes, one half of them linked, and whether they are."""
    rng, n = np.random.default_rng(seed), adjacency.shape[0]
    links = np.stack(adjacency.nonzero(), axis=1)
    links = links[links[:, 0] < links[:, 1]]
    m = round(share * len(links))
    missing = np.sort(rng.integers(n, size=(3 * m + 100, 2)), axis=1)
    missing = np.unique(missing[missing[:, 0] != missing[:, 1]], axis=0)
    missing = missing[adjacency[missing[:, 0], missing[:, 1]] == 0]
    missing = missing[rng.permutation(len(missing))[:m]]
    chosen = links[rng.permutation(len(links))[:m]]
    return np.concatenate([chosen, missing]), np.repeat([1, 0], m)


def adamic_adar(adjacency, pairs, linked):
    """Return the index of pairs, without the links that are held out."""
    known = adjacency.tolil()
    for a, b in pairs[linked == 1]:
        known[a, b] = known[b, a] = 0
    known = known.tocsr()
    weights = 1.0 / np.log(np.maximum(np.asarray(known.sum(axis=0)), 2.0))
    scaled = known.multiply(weights[None, :]).tocsr()
    return np.asarray(scaled[pairs[:, 0]].multiply(known[pairs[:, 1]]).sum(axis=1))


def f1_of(memberships, nodes, folder):
    """Return the mean best-match F1 of communities with the truth, both ways."""
    truth = {}
    path = Path(folder, "networks", "LFR-ground-truth-n1000-k28.txt")
    for line in path.read_text().splitlines():
        node, *communities = line.split()
        for community in communities:
            truth.setdefault(community, set()).add(int(node))
    found = [set(nodes[column > 0.1]) for column in memberships.T]
    found = [some for some in found if some]
    scores = np.array(
        [[2 * len(a & b) / (len(a) + len(b)) for b in truth.values()] for a in found]
    )
    return 0.5 * (scores.max(axis=0).mean() + scores.max(axis=1).mean())


def fitted(adjacency, k, burn_in, n_draws, thin, pairs=None, seed=0, **settings):
    """Return the model and the seconds of processor time that its fit took."""
    model = SGMCMCMixedMembershipBlockmodel(
        k,
        n_draws=n_draws,
        batch_size=adjacency.shape[0],  # an iteration is a sweep
        burn_in=burn_in,
        thin=thin,
        random_state=seed,
        **({"n_chains": 1} | settings),
    )
    began = time.process_time()
    model.fit(adjacency, exclude=pairs)
    return model, time.process_time() - began


def large(n, k, sweeps):
    """Print what a graph of n nodes and about 10 n links takes."""
    graph = make_graph(
        n, k, membership_prior=0.02, link_rates=20 * k / n, background_rate=0.1 / n,
        random_state=0,
    )  # fmt: skip
    X, links = graph.adjacency, graph.adjacency.nnz // 2
    settings = {"keep": "variances", "n_chains": 1, "n_draws": 5, "random_state": 0}
    settings |= {"batch_size": n, "burn_in": sweeps - 5, "thin": 1}
    model = SGMCMCMixedMembershipBlockmodel(k, **settings)
    foretold, before = model.memory_needed(X), _memory()
    began = time.process_time()
    model.fit(X)
    used = time.process_time() - began
    truth = graph.memberships.argmax(axis=1)
    agreement = adjusted_mutual_info_score(truth[::50], model.labels_[::50])
    print(
        f"{n} nodes, {links} links, K = {k}: {used:.0f} s, {used / sweeps:.1f} s per "
        f"sweep, foretold {foretold / 2**20:.0f} MiB, peak rose by "
        f"{(_memory('VmHWM') - before) / 2**10:.0f} MiB, labels agree with the truth "
        f"by {agreement:.3f} (adjusted mutual information)",
        flush=True,
    )


def _memory(name="VmRSS"):
    """Return the memory of this process in KiB, or at its peak with "VmHWM"."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main():
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="folder of the data, with networks/ in it")
    parser.add_argument("--only", nargs="*", default=list(RUNS))
    parser.add_argument("--large", type=int, default=0, help="nodes of a large graph")
    parser.add_argument("--sweeps", type=int, default=30, help="over the large graph")
    arguments = parser.parse_args()
    small = make_graph(50, 3, random_state=0).adjacency
    for corrected in (True, False):  # compile
        fitted(small, 3, 1, 2, 1, [[0, 1]], degree_correction=corrected)
    for name in arguments.only:
        adjacency, nodes = load(name, arguments.folder)
        for k, share, *lengths, settings in RUNS[name]:
            pairs, linked = hold_out(adjacency, share)
            model, seconds = fitted(adjacency, k, *lengths, pairs, **settings)
            auc = roc_auc_score(linked, model.predict_link(pairs))
            index = adamic_adar(adjacency, pairs, linked)
            line = f"{name} K={k} {share:.0%} held out: {seconds:.1f} s, -log p "
            line += f"{-model.score(pairs, linked):.3f}, AUC {auc:.4f} (Adamic-Adar "
            print(f"{line}{roc_auc_score(linked, index):.4f})", flush=True)
        if name == "lfr":
            for seed in LFR_SEEDS:
                began = time.process_time()
                model = SGMCMCMixedMembershipBlockmodel(28, random_state=seed)
                model.fit(adjacency)
                seconds = time.process_time() - began
                f1 = f1_of(model.memberships_, nodes, arguments.folder)
                print(
                    f"lfr, defaults, seed {seed}: {seconds:.1f} s, F1 {f1:.3f}, log "
                    f"likelihood of the chains per link {model.chain_scores_.round(3)}",
                    flush=True,
                )
    if arguments.large:
        large(arguments.large, 50, arguments.sweeps)


if __name__ == "__main__":
    main()
