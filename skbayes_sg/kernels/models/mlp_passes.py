"""Forward and backward passes of a network over a chunk of rows, by BLAS.

    forward:    a_0 = x,  z_l = a_{l-1} W_l + b_l,  a_l = activation(z_l)
    backward:   delta_L = d log f / d z_L,  delta_{l-1} = delta_l W_l' * activation'
    gradients:  d log f / d W_l = a_{l-1}' delta_l,  d log f / d b_l = sum of delta_l

`sizes` holds m_0, ..., m_L. A buffer of CHUNK (m_0 + ... + m_L) numbers holds the
layers one after another, each as an (n, m_l) matrix of n <= CHUNK rows.
"""

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.mlp_layers import activate, deactivate

CHUNK = 512  # rows that are processed together


@helper
def offset(sizes, k):
    """Return where W_k and b_k begin in theta; for k = L + 1, where the last end."""
    total = 0
    for i in range(1, k):
        total += (sizes[i - 1] + 1) * sizes[i]
    return total


@helper
def matrix(theta, sizes, k):
    """Return W_k, a view of theta."""
    first, m, n = offset(sizes, k), sizes[k - 1], sizes[k]
    return theta[first : first + m * n].reshape((m, n))


@helper
def bias(theta, sizes, k):
    """Return b_k, a view of theta."""
    stop = offset(sizes, k + 1)
    return theta[stop - sizes[k] : stop]


@helper
def layer(buffer, sizes, k, n):
    """Return the (n, m_k) matrix of layer k = 0, ..., L in a buffer."""
    first = 0
    for i in range(k):
        first += CHUNK * sizes[i]
    return buffer[first : first + n * sizes[k]].reshape((n, sizes[k]))


@helper
def standardize(center, size, x):
    """Replace the rows x, (n, m_0), by (x - center) / size."""
    for b in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[b, j] = (x[b, j] - center[j]) / size[j]


@helper
def forward(activation, theta, sizes, n, a):
    """Fill `a` from layer 0, which holds the rows, and return its last layer z_L."""
    last = sizes.size - 1
    for k in range(1, last + 1):
        z = layer(a, sizes, k, n)
        np.dot(layer(a, sizes, k - 1, n), matrix(theta, sizes, k), z)
        shift = bias(theta, sizes, k)
        for b in range(n):
            for j in range(shift.size):
                z[b, j] += shift[j]
        if k < last:
            activate(activation, z)
    return layer(a, sizes, last, n)


@helper
def backward(activation, theta, sizes, n, a, delta):
    """Fill `delta` of the hidden layers, given that of the last layer."""
    for k in range(sizes.size - 2, 0, -1):
        below = layer(delta, sizes, k, n)
        np.dot(layer(delta, sizes, k + 1, n), matrix(theta, sizes, k + 1).T, below)
        deactivate(activation, layer(a, sizes, k, n), below)


@helper
def products(sizes, n, a, delta, out):
    """Write the gradients of all W_l and b_l to `out`."""
    for k in range(1, sizes.size):
        above = layer(delta, sizes, k, n)
        np.dot(layer(a, sizes, k - 1, n).T, above, matrix(out, sizes, k))
        total = bias(out, sizes, k)
        total[:] = 0.0
        for b in range(n):
            for j in range(total.size):
                total[j] += above[b, j]
