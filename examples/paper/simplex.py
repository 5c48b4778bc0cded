"""Section 5, constrained spaces: walls, the simplex, and topics of documents."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from skbayes_sg import SGMCMCLatentDirichletAllocation, sample
from skbayes_sg.datasets import make_documents
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models import (
    DirichletMultinomial,
    ExpandedDirichlet,
    mirrored,
)
from skbayes_sg.kernels.samplers import SCIR, SGLD, ExpandedMean
from skbayes_sg.metrics import completion_perplexity

K, SHAPE, N_ROWS = 10, 0.1, 1000
COUNTS = {
    "dense": np.full(K, 100),
    "sparse": np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0]),
}
STEPS = {
    "SG-RLD": [2e-2, 2e-3, 2e-4, 2e-5],
    "mirrored Langevin": [1e-2, 1e-3, 1e-4],
    "SCIR": [2.0, 0.5, 0.1, 0.02],
}
BATCHES = [10, 100, 1000]


def draws_of(name, counts, batch_size, h, n_draws=1000):
    """Return draws of the probabilities by one sampler."""
    y, shape = np.repeat(np.arange(K), counts), np.full(K, SHAPE)
    x = (counts + SHAPE) / (N_ROWS + K * SHAPE)
    if name == "mirrored Langevin":
        model, start = mirrored(DirichletMultinomial(y, shape), "entropic"), None
        start, sampler = np.log(x[:-1] / x[-1]), SGLD()
    else:
        # The sum of theta has the law of its prior or, for SCIR, of its posterior.
        total = N_ROWS if name == "SCIR" else K * SHAPE
        model, start = ExpandedDirichlet(y, shape), total * x
        sampler = SCIR() if name == "SCIR" else ExpandedMean()
    return sample(
        model, sampler, Minibatch(batch_size), step_size=h, n_draws=n_draws,
        burn_in=1000, thin=10, start=start, random_state=0,
    )[0]  # fmt: skip


def distance(draws, counts):
    """Return the mean Kolmogorov-Smirnov distance of the marginals to the posterior."""
    b, n = counts + SHAPE, len(draws)
    rank = np.arange(1, n + 1)[:, None] / n
    cdf = stats.beta.cdf(np.sort(draws, axis=0), b, b.sum() - b)
    return np.maximum(rank - cdf, cdf - rank + 1 / n).max(axis=0).mean()


def run(report, quick):
    """Compare samplers of a simplex, and of topics."""
    report.section("5.1", "Constrained spaces")
    report.text(
        "The toy of the SCIR paper: 1,000 rows of ten categories, Dirichlet(0.1) "
        "prior, counts of 100 each or of 800, 100, 100 and seven empty categories. The "
        "posterior is known, so that draws can be compared with it; each sampler has "
        "the best of a few step sizes."
    )
    walls(report)
    found = compare(report)
    exact = {
        kind: distance(np.random.default_rng(0).dirichlet(counts + SHAPE, 1000), counts)
        for kind, counts in COUNTS.items()
    }
    worst = {name: found["sparse", name][-1] for name in STEPS}
    report.claim(
        "5",
        "SG-RLD has biases that dominate near the boundary of the simplex.",
        worst["SG-RLD"] > 3 * exact["sparse"],
        f"all rows in each step, sparse counts: distance {worst['SG-RLD']:.3f}, of "
        f"independent draws {exact['sparse']:.3f}; with dense counts "
        f"{found['dense', 'SG-RLD'][-1]:.3f}",
    )
    report.claim(
        "5",
        "The Cox-Ingersoll-Ross process has no such bias.",
        worst["SCIR"] < 1.5 * exact["sparse"],
        f"distance {worst['SCIR']:.3f}; with 10 rows per step "
        f"{found['sparse', 'SCIR'][0]:.3f}, from the noise of the counts",
    )
    report.claim(
        "5",
        "Mirrored Langevin converges as fast as without constraints.",
        worst["mirrored Langevin"] < 1.5 * exact["sparse"],
        f"dense counts {found['dense', 'mirrored Langevin'][-1]:.3f} against "
        f"{exact['dense']:.3f} of independent draws, sparse counts "
        f"{worst['mirrored Langevin']:.3f} against {exact['sparse']:.3f}, whose log "
        "ratios have tails that a chain of 10,000 steps does not pass through",
    )
    topics(report, quick)


def walls(report):
    """Count how often plain steps leave the simplex."""
    counts = COUNTS["sparse"]
    x = (counts + SHAPE) / (N_ROWS + K * SHAPE)
    score = (counts + SHAPE - 1) / x  # of the density in x, one part after another
    rng = np.random.default_rng(0)
    h = 1e-6
    moved = x + h / 2 * score + np.sqrt(h) * rng.standard_normal((10_000, K))
    share = np.mean((moved < 0).any(axis=1))
    report.claim(
        "5",
        "Langevin steps leave a constrained space.",
        share > 0.5,
        f"sparse counts, from the posterior mean, h = {h:g}: {share:.0%} of steps end "
        "outside; `sample` refuses densities that are infinite at a wall",
    )


def compare(report):
    """Return the distances over minibatch sizes, of dense and sparse counts."""
    found = {}
    figure, axes = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained", sharey=True
    )
    for axis, (kind, counts) in zip(axes, COUNTS.items(), strict=True):
        for name, steps in STEPS.items():
            found[kind, name] = [
                min(distance(draws_of(name, counts, n, h), counts) for h in steps)
                for n in BATCHES
            ]
            axis.plot(BATCHES, found[kind, name], "o-", label=name)
        axis.set(title=f"{kind} counts", xscale="log", yscale="log")
        axis.set_xlabel("rows in a minibatch")
    axes[0].set_ylabel("mean KS distance to the posterior")
    axes[0].legend()
    report.figure(figure, "Distances at the best step size. Seed 0.")
    return found


def topics(report, quick):
    """Compare SG-RLD and SCIR on documents, with the same and the published priors."""
    n_topics, n_words, alpha, beta = 10, 300, 0.1, 0.05
    data = make_documents(
        1100, n_words, n_topics, length=60, doc_topic_prior=alpha,
        topic_word_prior=beta, random_state=0,
    )  # fmt: skip
    train, test = data.X[:1000], data.X[1000:]
    truth = completion_perplexity(test, data.topics + 1e-9, alpha)

    def perplexity(sampler, prior, step):
        model = SGMCMCLatentDirichletAllocation(
            n_topics, doc_topic_prior=alpha, topic_word_prior=prior, sampler=sampler,
            step_size=step, batch_size=50, burn_in=100 if quick else 200, thin=10,
            n_draws=5, n_chains=1, random_state=0,
        ).fit(train)  # fmt: skip
        draws = model.samples_[0, :, : n_topics * n_words]
        some = draws.reshape(-1, n_topics, n_words).astype(float)
        return completion_perplexity(test, some + 1e-9, alpha)

    steps = (0.2,) if quick else (0.05, 0.2, 0.5)
    rows, best = [], {}
    for title, priors in (("same", (beta, beta)), ("published", (1e-4, 1.0))):
        pairs = zip(("SG-RLD", "SCIR"), (ExpandedMean(), SCIR()), priors, strict=True)
        for name, sampler, prior in pairs:
            value = min(perplexity(sampler, prior, h) for h in steps)
            best[title, name] = value
            rows.append([name, title, prior, value])
    report.table(
        ["sampler", "priors of words", "β", "perplexity of new documents"],
        [*rows, ["true topics", None, None, truth]],
        "Topics of 1,000 generated documents after 5 to 10 passes, 50 documents per "
        "step, the best of a few step sizes. Seed 0.",
    )
    report.claim(
        "5",
        "For topics the Cox-Ingersoll-Ross process is better than SG-RLD.",
        best["same", "SCIR"] < 0.98 * best["same", "SG-RLD"],
        f"perplexity {best['same', 'SCIR']:.1f} and {best['same', 'SG-RLD']:.1f} with "
        f"the same priors, {best['published', 'SCIR']:.1f} and "
        f"{best['published', 'SG-RLD']:.1f} with those of the two papers, which differ",
    )
