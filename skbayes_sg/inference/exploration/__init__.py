"""Where chains start, in which units they move, and how far: one file per family."""

import skbayes_sg.inference.exploration.blockmodel  # noqa: F401  registers
import skbayes_sg.inference.exploration.glm  # noqa: F401  registers
import skbayes_sg.inference.exploration.hmm  # noqa: F401  registers
import skbayes_sg.inference.exploration.lda  # noqa: F401  registers
import skbayes_sg.inference.exploration.matrix_factorization  # noqa: F401  registers
import skbayes_sg.inference.exploration.mlp  # noqa: F401  registers
import skbayes_sg.inference.exploration.rating_agreement  # noqa: F401  registers
import skbayes_sg.inference.exploration.sequences  # noqa: F401  registers
import skbayes_sg.inference.exploration.stochastic_volatility  # noqa: F401
import skbayes_sg.inference.exploration.wide  # noqa: F401  registers
from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.request import (
    Exploration,
    Request,
    Settings,
    check_draws,
    check_fit,
    for_diagnostics,
    longer_thin,
)

__all__ = [
    "Exploration",
    "Request",
    "Settings",
    "check_draws",
    "check_fit",
    "explore",
    "for_diagnostics",
    "longer_thin",
]
