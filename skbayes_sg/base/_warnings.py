"""What `fit` and `summary` say of draws that should not be used."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayes_sg.inference.checks import MAX_RHAT, MIN_ESS
from skbayes_sg.utils._warnings import warn_user


def warn_of_convergence(names, ess, rhat):
    """Warn if the chains disagree or the effective sample size is small."""
    signs = []
    worst = int(np.argmax(np.where(np.isnan(rhat), np.inf, rhat)))
    if not rhat[worst] <= MAX_RHAT:
        signs.append(f"R-hat is {rhat[worst]:.3g} for {names[worst]}")
    fewest = int(np.argmin(np.where(np.isnan(ess), -np.inf, ess)))
    if not ess[fewest] >= MIN_ESS:
        signs.append(f"there are {ess[fewest]:.0f} effective draws of {names[fewest]}")
    if signs:
        warn_user(
            f"The chains have not converged: {', and '.join(signs)}. Increase n_draws "
            "or thin. R-hat and the effective sample size cannot detect the bias of a "
            "step size that is too large; use ksd(), or compare with half the step "
            "size.",
            ConvergenceWarning,
        )


def warn_of_mixing(mixing, n_chains, is_automatic):
    """Warn that `fit` has ended with draws that should not be used.

    `is_automatic` says whether the step size was chosen by `fit`.
    """
    signs = []
    if mixing.r_hat is not None:
        what = f"R-hat of {mixing.quantity}" if mixing.quantity else "R-hat"
        signs.append(f"the {n_chains} chains disagree ({what} {mixing.r_hat:.2f})")
    if mixing.ess is not None:
        signs.append(f"there are {mixing.ess:.0f} effective draws of some parameter")
    remedy = "Increase" if is_automatic else 'Use step_size="auto", or increase'
    warn_user(
        f"The draws should not be used: {' and '.join(signs)}. {remedy} burn_in and "
        "thin, or n_draws; summary() shows which parameters are affected.",
        ConvergenceWarning,
    )


def warn_of_errors(errors, is_automatic):
    """Warn that `fit` has ended with draws of a wrong width or at a wrong place."""
    if errors.sd != 0.0:
        side = "wide" if errors.sd > 0 else "narrow"
        wrong = f"those of some parameter are {abs(errors.sd):.0%} too {side}"
    else:
        wrong = (
            "the mean of those of some parameter is "
            f"{errors.mean:.2g} standard deviations off"
        )
    remedy = 'Use a smaller step_size, or step_size="auto"'
    if is_automatic:
        wrong += ", also with smaller steps"
        remedy = (
            "Scale columns with outliers, use a narrower prior, or "
            'sampler="hmc" where the class has it'
        )
    warn_user(
        f"The draws should not be used: {wrong}. {remedy}; check() tells more.",
        ConvergenceWarning,
    )


def warn_of_step(step_size, limit):
    """Warn of a step size above the limit of stability.

    If the gradient is bounded, as in logistic regression, such chains need not diverge,
    and no other diagnostic of `fit` would detect the problem.
    """
    warn_user(
        f"step_size={step_size:.3g} is above the largest stable step size, "
        f"{limit:.3g} for the curvature at the mode. Even chains that do not diverge "
        "then miss the posterior: their draws can be many times too wide. Use "
        f'step_size={limit / 4:.2g} or less, or step_size="auto".',
        ConvergenceWarning,
    )
