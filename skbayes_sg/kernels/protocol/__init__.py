"""The protocol: the core operations of the components of a chain, and all conventions.

A chain combines a *sampler*, a *gradient estimator* and a *model*. Each is a NamedTuple
of settings and data, which are never written to while a chain runs. To each belongs a
NamedTuple of arrays that a chain changes: the sampler's **state**, the estimator's
**memory** and the model's **work**. Behavior is added by registering functions on the
operations in these files::

    @step.register(SGLD)
    def _(sampler, state, target, h, rng): ...

An operation is an ordinary `functools.singledispatch` function that numba can compile
too, so the same source runs with and without the compiler. Operations that only some
components implement are in `skbayes_sg.kernels.capabilities`, one file per capability.

Conventions
-----------
- ``g`` is the (estimated) gradient of the **log posterior**; never of a loss or a mean.
  Likelihood terms are scaled by N/n, the prior enters once, and a row's weight
  multiplies its log-likelihood.
- One step size ``h``: a step moves by h/2 times the gradient and adds noise of variance
  h. A sampler whose paper defines it differently documents the conversion.
- ``theta`` is a flat vector in the model's coordinates, ``position`` (phi) the vector
  that the sampler moves: theta = center + L phi. A constant preconditioner L L' is this
  change of variables, which samplers need not know.
- ``out`` is written in place and comes last. All arrays of a chain have the model's
  dtype, are allocated before the loop, and nothing is allocated inside it.
- Row indices are int32. One `numpy.random.Generator` serves one chain.
"""
