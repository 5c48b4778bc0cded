"""Matrix factorization: error against seconds, and what an iteration costs.

    python benchmarks/bench_recommender.py [--quick] [--only peers|paper|growth]

peers   root mean square error on the five folds of MovieLens 100K (u1 with --quick)
        against seconds of sampling, with SMURFF's Gibbs sampler (noise precision 1.5,
        which suits it best) and myFM, on two threads each where they have them. Time to
        compile and to load is left out of all, and so is our time for predictions.
paper   the setting of Nemeth & Fearnhead (2021), section 6.3: 100,000 SGLD iterations,
        d = 20, alpha = 3, minibatches of a tenth; beside a fixed loop in numpy.
growth  ten million generated ratings of 10,000 items by 100,000 users: memory, the
        error against the generating truth, and time of an iteration with lazy and with
        eager steps, beside those of ten times as many users and items, and of a tenth.

Each part has a process of its own: one that fails does not stop the others. MovieLens
is read from the folder SKBAYES_SG_DATA, or downloaded.
"""

import argparse
import copy
import os
import resource
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp
from tables import Table, note

from skbayes_sg import SGBPMFRecommender, sample
from skbayes_sg.datasets import fetch_movielens_100k, make_ratings
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.samplers import LazyLangevin, LeimkuhlerMatthews

N_THREADS = 2
SECONDS = 1, 1.5, 2, 4, 8  # at which errors are printed


def rmse(predicted, y):
    return float(np.sqrt(np.mean((np.clip(predicted, 1, 5) - y) ** 2)))


def seconds_of(function):
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def our_curve(X, X_test, y, y_test, **settings):
    """Return seconds and error after each tenth of the draws, and the coverage.

    Draws come at equal times after warm-up and burn-in, whose share is measured by a
    fit that keeps one draw only.
    """
    settings = dict(random_state=0, n_jobs=N_THREADS, **settings)
    one = SGBPMFRecommender(**{**settings, "n_draws": 1})
    one.fit(X, y)  # compiles
    first, _ = seconds_of(lambda: one.fit(X, y))
    model = SGBPMFRecommender(**settings)
    last, _ = seconds_of(lambda: model.fit(X, y))
    curve, n = [], model.n_draws
    for k in sorted({1, 2, 3, 5, *range(10, n + 1, 10)}):
        part = copy.copy(model)
        part.samples_ = model.samples_[:, :k]
        part.draw_weights_ = np.full(k, 1 / k)
        seconds = first + (last - first) * (k - 1) / (n - 1)
        curve.append((seconds, rmse(part.predict(X_test), y_test)))
    low, high = model.predict_interval(X_test, 0.9).T
    return curve, float(np.mean((low <= y_test) & (y_test <= high)))


def smurff_curve(X, X_test, y, y_test, n_burn, n_sweeps):
    import smurff

    shape = tuple(np.maximum(X.max(axis=0), X_test.max(axis=0)))
    mean = y.mean()
    train, test = (
        sp.csr_matrix((values - mean, (pairs - 1).T), shape)
        for values, pairs in ((y, X), (y_test, X_test))
    )
    session = smurff.TrainSession(
        priors=["normal", "normal"],
        num_latent=20,
        num_threads=N_THREADS,
        burnin=n_burn,
        nsamples=n_sweeps,
        seed=0,
        verbose=0,
    )
    session.addTrainAndTest(train, test, smurff.FixedNoise(1.5))
    session.init()
    began, curve = time.perf_counter(), []
    for t in range(n_burn + n_sweeps):
        session.step()
        if t >= n_burn:
            curve.append((time.perf_counter() - began, session.getRmseAvg()))
    return curve


def myfm_curve(X, X_test, y, y_test, n_burn, n_sweeps):
    import myfm
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore").fit(X)
    train, test = encoder.transform(X), encoder.transform(X_test)
    groups = [len(part) for part in encoder.categories_]
    curve, state = [], {"total": 0.0, "idle": 0.0}
    began = time.perf_counter()

    def callback(t, fm, hyper, history):
        now = time.perf_counter()
        if t >= n_burn:
            state["total"] = state["total"] + fm.predict_score(test, [])
            mean = state["total"] / (t - n_burn + 1)
            curve.append((now - began - state["idle"], rmse(mean, y_test)))
        state["idle"] += time.perf_counter() - now
        return False, None

    model = myfm.MyFMRegressor(rank=20, random_seed=0)
    model.fit(
        train,
        y,
        n_iter=n_burn + n_sweeps,
        n_kept_samples=1,
        group_shapes=groups,
        callback=callback,
    )
    return curve


def time_to(curve, level):
    """Return the seconds after which the error stays at `level` or below."""
    late = [seconds for seconds, error in curve if error > level]
    reached = [seconds for seconds, _ in curve if not late or seconds > late[-1]]
    return reached[0] if reached else np.inf


def error_at(curve, seconds):
    """Return the error of what was there after some seconds."""
    errors = [error for when, error in curve if when <= seconds]
    return errors[-1] if errors else np.nan


def fold_curves(fold, quick):
    """Return the curves of all contenders on a fold, and the coverage of ours."""
    bunch = fetch_movielens_100k(fold=fold)
    test = bunch.test_fold == 0
    X, y = bunch.data, bunch.target
    parts = X[~test], X[test], y[~test], y[test]
    features = {
        "user_features": (np.unique(X[:, 0]), bunch.user_features),
        "item_features": (np.unique(X[:, 1]), bunch.item_features),
    }
    length = {"n_draws": 20} if quick else {}
    curves, coverages = {}, {}
    for name, settings in (("ours", {}), ("with features", features)):
        if not (quick and settings):
            found = our_curve(*parts, **length, **settings)
            curves[name], coverages[name] = found
    for name, function in (("SMURFF", smurff_curve), ("myFM", myfm_curve)):
        try:
            curves[name] = function(*parts, 20, 80 if quick else 400)
        except ImportError:
            print(f"{name} is not installed")
    return curves, coverages


def against_peers(quick):
    note(
        "Root mean square error after so many seconds, and after all draws; `until`:\n"
        "seconds until it stays within 0.002 of ours after all draws (- if never)."
    )
    times = [f"{s} s" for s in SECONDS]
    table = Table(f"{'':16}", *times, "until", "all", "seconds")
    ends, coverages = {}, {}
    for fold in (1,) if quick else range(1, 6):
        curves, coverage = fold_curves(fold, quick)
        level = curves["ours"][-1][1] + 0.002
        for name, curve in curves.items():
            seconds, error = curve[-1]
            numbers = [f"{error_at(curve, s):.4f}" for s in SECONDS]
            numbers += [f"{time_to(curve, level):.2f}", f"{error:.4f}"]
            numbers = ["-" if n in ("nan", "inf") else n for n in numbers]
            table.row(f"u{fold} {name}", *numbers, f"{seconds:.2f}")
            ends.setdefault(name, []).append(curve[-1])
        for name, share in coverage.items():
            coverages.setdefault(name, []).append(share)
    table = Table("means of folds", "error", "seconds", "90 % intervals cover")
    for name, end in ends.items():
        seconds, error = np.mean(end, axis=0)
        share = f"{100 * np.mean(coverages[name]):.1f} %" if name in coverages else None
        table.row(name, f"{error:.4f}", f"{seconds:.2f}", share)


def numpy_loop(X, y, n_iter, batch_size, h=1e-4, alpha=3.0, d=20):
    """SGLD for matrix factorization as a fixed baseline, with fixed hyperparameters."""
    rng = np.random.default_rng(0)
    users, items = (np.unique(x, return_inverse=True)[1] for x in X.T)
    U = 0.1 * rng.standard_normal((users.max() + 1, d), np.float32)
    V = 0.1 * rng.standard_normal((items.max() + 1, d), np.float32)
    y = (y - y.mean()).astype(np.float32)
    for _ in range(n_iter):
        idx = rng.choice(len(y), batch_size, replace=False)
        i, j = users[idx], items[idx]
        r = alpha * len(y) / batch_size * (y[idx] - np.sum(U[i] * V[j], axis=1))
        gu, gv = -U, -V
        np.add.at(gu, i, r[:, None] * V[j])
        np.add.at(gv, j, r[:, None] * U[i])
        for x, g in ((U, gu), (V, gv)):
            noise = rng.standard_normal(x.shape, np.float32)
            x += 0.5 * h * g + np.sqrt(h, dtype=np.float32) * noise


def paper_setting(quick):
    X, X_test, y, y_test = fetch_movielens_100k(fold=1, return_X_y=True)
    n_iter = 3000 if quick else 100_000
    model = SGBPMFRecommender(
        n_factors=20,
        biases=False,
        implicit_sets=False,
        noise_precision=3.0,
        noise_dof=None,
        precision_prior=(1.0, 5.0),
        sampler="sgld",
        gradient="minibatch",
        preconditioner="none",
        step_size=2e-4,
        batch_size=len(y) // 10,
        n_draws=100,
        burn_in=n_iter // 2,
        thin=n_iter // 200,
        n_chains=1,
        random_state=0,
    )
    copy.copy(model).set_params(burn_in=1, thin=1, n_draws=1).fit(X, y)  # compiles
    seconds, _ = seconds_of(lambda: model.fit(X, y))
    n_loop = 20 if quick else 200
    loop, _ = seconds_of(lambda: numpy_loop(X, y, n_loop, len(y) // 10))
    ours, loop = 1e3 * seconds / n_iter, 1e3 * loop / n_loop
    error = rmse(model.predict(X_test), y_test)
    note(
        f"{n_iter} SGLD iterations with {len(y) // 10} ratings: {seconds:.1f} s; an\n"
        f"iteration: {ours:.3f} ms, of the loop in numpy: {loop:.2f} ms, which is\n"
        f"{loop / ours:.1f} times as long; error on u1: {error:.4f}"
    )


def growth(quick):
    n_users, n_items, n = (10_000, 1_000, 200_000) if quick else (10**5, 10**4, 10**7)
    settings = dict(n_factors=10, n_chains=1, random_state=0)
    small = make_ratings(50, 40, 500, random_state=0)
    SGBPMFRecommender(**settings, n_draws=1).fit(*small)  # compiles
    seconds, (X, y, truth) = seconds_of(
        lambda: make_ratings(n_users, n_items, n, random_state=0, return_truth=True)
    )
    note(
        f"{n} ratings of {n_items} items by {n_users} users: generated in\n"
        f"{seconds:.1f} s, {peak_memory():.2f} GB at the peak."
    )
    model = SGBPMFRecommender(**settings, n_draws=20, thin=5, burn_in=50)
    seconds, _ = seconds_of(lambda: model.fit(X, y))
    note(
        f"Fit by full gradients, 10 factors, 20 draws, one thread: {seconds:.1f} s,\n"
        f"{peak_memory():.2f} GB at the peak."
    )
    against_truth(model, X, truth)
    note("Milliseconds per iteration, between draws of the hyperparameters.")
    table = Table("users + items", "minibatch", "lazy", "eager")
    sizes = [(n_users // 10, n_items // 10, n // 100)]
    sizes += [] if quick else [(10 * n_users, 10 * n_items, n // 2)]
    others = [unfitted(*size, settings) for size in sizes]
    for at in (others[0], model, *others[1:]):
        n_rows = len(at.users_) + len(at.items_)
        for size in (100, 1000):
            lazy = iteration_time(at, LazyLangevin(11), size, (100, 2100))
            eager = iteration_time(at, LeimkuhlerMatthews(), size, (10, 60))
            table.row(n_rows, size, f"{1e3 * lazy:.3f}", f"{1e3 * eager:.3f}")


def unfitted(n_users, n_items, n, settings):
    """Return an estimator with ratings, whose one draw has no meaning."""
    none = dict(preconditioner="none", step_size=1e-9, burn_in=0, thin=1, n_draws=1)
    model = SGBPMFRecommender(**settings, **none)
    return model.fit(*make_ratings(n_users, n_items, n, random_state=0))


def peak_memory():
    """Return the most memory that the process has had, in GB."""
    return 1e-6 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def against_truth(model, X, truth, n=100_000):
    rng = np.random.default_rng(1)
    some = rng.choice(len(X), n)
    users, items = rng.choice(model.users_, n), rng.choice(model.items_, n)
    signal = truth.mean + truth.user_bias[users] + truth.item_bias[items]
    signal += np.sum(truth.user_factors[users] * truth.item_factors[items], axis=1)
    cases = {
        "rated": (X[some], truth.signal[some]),
        "new": (np.stack([users, items], axis=1), signal),
    }
    for name, (pairs, true) in cases.items():
        error = np.sqrt(np.mean((model.predict(pairs) - np.clip(true, 1, 5)) ** 2))
        note(f"Error against the truth, {name} pairs: {error:.3f}, sd {true.std():.3f}")


def iteration_time(fitted, sampler, size, lengths):
    """Return seconds per iteration, from two lengths: what they share cancels."""
    model = fitted._model._replace(refresh_every=10**9)
    n_rows, width = model.n_users + model.n_items, fitted.n_factors + 1
    start = fitted.samples_[0, -1, : n_rows * width]

    def run(length):
        sample(
            model,
            sampler,
            Minibatch(size),
            step_size=1e-9,
            n_draws=1,
            thin=length,
            start=start,
            scale=np.ones(start.size),
            random_state=0,
        )

    run(1)  # compiles
    spent = [min(seconds_of(lambda n=n: run(n))[0] for _ in range(3)) for n in lengths]
    return (spent[1] - spent[0]) / (lengths[1] - lengths[0])


PARTS = {"peers": against_peers, "paper": paper_setting, "growth": growth}


def run_all(quick):
    """Run each part in a process of its own; return what to exit with."""
    failed = []
    for name in PARTS:
        command = [sys.executable, __file__, "--only", name, *["--quick"] * quick]
        failed += [name] * (subprocess.run(command).returncode != 0)
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="seconds, not minutes")
    parser.add_argument("--only", choices=PARTS)
    arguments = parser.parse_args()
    if arguments.only is None:
        sys.exit(run_all(arguments.quick))
    os.environ.setdefault("TQDM_DISABLE", "1")  # myFM's progress bar
    PARTS[arguments.only](arguments.quick)
