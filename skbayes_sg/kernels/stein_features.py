"""Sums of Stein features: random waves whose mean products are the Stein kernel.

A kernel that is the mean of exp(i w'(x - y)) over random frequencies w has the Stein
kernel (Rahimi & Recht, 2007, with the operator s + d/dx applied to both arguments)

    k0_j(x, y) = E_w[f_j(x) conj(f_j(y))],    f_j(x) = (s_j(x) + i w_j) exp(i w'x) .

Sums over pairs of draws are thus squares of sums over draws.
"""

import numpy as np

from skbayes_sg.kernels.generic import compiled, helper

# Pi / 2 in two parts; products of the first part with small integers are exact.
HALF_PI = 1.5707963267341256
REST = 6.077100506506192e-11


@compiled
def feature_sums(x, s, frequencies, tile_size):
    """Return real and imaginary parts of the sums of f_j over draws, both (m, d)."""
    n = x.shape[0]
    m, d = frequencies.shape
    buffers = np.empty((3, m * tile_size))
    real = np.zeros((m, d))
    imaginary = np.zeros((m, d))
    part = np.empty((m, d))
    for start in range(0, n, tile_size):
        stop = min(start + tile_size, n)
        columns = stop - start
        phase = buffers[0, : m * columns].reshape(m, columns)
        cosine = buffers[1, : m * columns].reshape(m, columns)
        sine = buffers[2, : m * columns].reshape(m, columns)
        np.dot(frequencies, x[start:stop].T, phase)
        for k in range(m):
            cosines, sines = _waves(phase[k], cosine[k], sine[k])
            for j in range(d):
                real[k, j] -= frequencies[k, j] * sines
                imaginary[k, j] += frequencies[k, j] * cosines
        np.dot(cosine, s[start:stop], part)
        real += part
        np.dot(sine, s[start:stop], part)
        imaginary += part
    return real, imaginary


@helper
def _waves(phase, cosine, sine):
    """Write cosines and sines of the phases; return their sums.

    Uses the polynomials of fdlibm without branches, so that the loop vectorizes.
    """
    cosines = 0.0
    sines = 0.0
    for i in range(phase.size):
        turns = np.rint(phase[i] / (HALF_PI + REST))
        r = phase[i] - turns * HALF_PI - turns * REST
        z = r * r
        s = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
        s = -1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * s)
        s = -1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * s)
        s = r + r * z * s
        c = 2.08757232129817482790e-09 - z * 1.13596475577881948265e-11
        c = 2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * c)
        c = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * c)
        c = 1.0 - 0.5 * z + z * z * c
        quarter = int(turns) & 3
        odd = quarter & 1
        cosine[i] = (s if odd else c) * (1.0 - ((quarter + 1) & 2))
        sine[i] = (c if odd else s) * (1.0 - (quarter & 2))
        cosines += cosine[i]
        sines += sine[i]
    return cosines, sines
