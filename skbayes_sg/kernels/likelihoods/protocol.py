"""The operations of a likelihood f(y | eta, noise).

For b rows and K outputs, `eta` is (K, b) and may have more columns, which do not count;
`y` is (m, b): one row of classes, counts or numbers, or a number per output. `noise`
holds the likelihood's own parameters, without bounds, such as log precisions.
"""

from skbayes_sg.kernels.generic import kernel_op, python_op


@kernel_op
def n_noise(likelihood, n_outputs):
    """Return the number of the likelihood's own parameters."""
    return 0


@kernel_op
def log_density(likelihood, eta, y, noise, out):
    """Write log f(y_b | eta_b) to (b,) `out`, constants apart."""
    raise NotImplementedError


@kernel_op
def score(likelihood, eta, y, noise, out):
    """Write d log f / d eta to (K, b) `out`; `eta` may be overwritten."""
    raise NotImplementedError


@kernel_op
def curvature(likelihood, eta, k, m, noise, out):
    """Write -d2 log f / d eta_k d eta_m to (b,) `out`, in expectation over y."""
    raise NotImplementedError


@kernel_op
def curvature_slope(likelihood, eta, k, m, n, noise, out):
    """Write the derivative of `curvature` k, m with respect to eta_n to (b,) `out`."""
    raise NotImplementedError


@kernel_op
def curvature_factor(likelihood, eta, k, noise, out):
    """Write column k of F_b, `curvature` = F_b F_b', to (K, b) `out`."""
    raise NotImplementedError


@kernel_op
def add_noise_score(likelihood, eta, y, noise, scale, out):
    """Add the sum of scale_b * d log f(y_b | eta_b) / d noise to `out`."""


@kernel_op
def has_conjugate_noise(likelihood):
    """Whether `draw_noise` can draw the noise from its conditional distribution."""
    return False


@kernel_op
def add_noise_statistics(likelihood, eta, y, scale, out):
    """Add the sum over rows of what `draw_noise` needs, weighted by `scale`, to `out`.

    `out` holds a number per parameter of the noise.
    """


@kernel_op
def draw_noise(likelihood, statistics, total, beta, rng, out):
    """Write a draw of the noise given the predictors to `out`.

    `statistics` are those of rows whose weights sum to `total`; the conditional density
    is raised to the power of `beta`.
    """


@kernel_op
def noise_score(likelihood, eta, y, noise, out):
    """Write d log f(y_b | eta_b) / d noise_j to the first b columns of `out`.

    It comes before `score`, which may overwrite `eta`.
    """


@kernel_op
def natural_noise(likelihood, noise, scale, out):
    """Write the parameters that users read, such as standard deviations, to `out`.

    `scale` holds the unit in which each output was measured; it may be empty.
    """


@python_op
def noise_of_natural(likelihood, natural, scale):
    """Return the noise of which `natural_noise` makes `natural`, (q,)."""
    return natural


@kernel_op
def noise_curvature(likelihood):
    """Return about -d2 log f / d noise^2 of a row, in expectation over y."""
    return 0.0


@kernel_op
def add_noise_prior_gradient(likelihood, noise, out):
    """Add the gradient of the log prior density of `noise` to `out`."""


@kernel_op
def noise_log_prior(likelihood, noise):
    """Return the log prior density of `noise`, up to a constant."""
    return 0.0


@kernel_op
def add_noise_prior_curvature(likelihood, noise, out):
    """Add -d2 / d noise^2 of the log prior density of `noise` to `out`."""
