"""Gradient estimators: unbiased estimates of the log posterior's gradient."""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


# Inside the loop
@kernel_op
def estimate(gradient, memory, model, work, theta, rng, out):
    """Write an unbiased estimate of grad log p(theta | data) to `out`."""
    raise NotImplementedError


# Outside the loop, Python only
@python_op
def init_memory(gradient, model, theta, rng):
    """Allocate the arrays that an estimator keeps between the steps of one chain."""
    raise missing(init_memory, gradient)


@python_op
def prepare(gradient, model):
    """Return the estimator with quantities computed from the data for all chains.

    Preparing it again changes nothing.
    """
    return gradient


@python_op
def batch_size_of(gradient):
    """Return the number of rows in a minibatch, None if the estimator uses all rows."""
    return None


@python_op
def is_exact(gradient):
    """Whether the estimator computes the gradient without error."""
    return False


@python_op
def with_batch_size(gradient, batch_size):
    """Return the estimator with another batch size, if it draws minibatches."""
    return gradient


@python_op
def needs_mode(gradient):
    """Whether the estimator needs a center and has none yet."""
    return False


@python_op
def centered_at(gradient, mode, draws=None):
    """Return the estimator centered at (d,) `mode`, if it has a center.

    (Q, d) `draws` are typical points of the posterior, for estimators that use them.
    """
    return gradient
