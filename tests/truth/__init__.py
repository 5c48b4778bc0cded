"""Random fits of the package's estimators, compared with exact posteriors.

    python -m tests.truth --seed 7 --n 100 --jobs 2

A *kind* (`kinds.py`) makes data and a prior from a random generator. A *family*
(`families.py`) fits an estimator to them, and makes the exact reference without the
package's samplers. `judging.py` says whether a fit is right, and whether it said so.
To add a kind or a family, write one function or class and list it in `KINDS` or
`FAMILIES`.
"""
