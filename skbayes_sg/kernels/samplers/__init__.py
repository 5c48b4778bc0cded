"""Samplers, which move a position given noisy gradients of its log density."""

from skbayes_sg.kernels.samplers.badodab import BADODAB
from skbayes_sg.kernels.samplers.baoab import BAOAB
from skbayes_sg.kernels.samplers.bounded import Projected, Reflected, bounded
from skbayes_sg.kernels.samplers.cir import SCIR
from skbayes_sg.kernels.samplers.constant_mass import ConstantMassCIR
from skbayes_sg.kernels.samplers.expanded_mean import ExpandedMean
from skbayes_sg.kernels.samplers.frozen_cir import FrozenCIR
from skbayes_sg.kernels.samplers.frozen_counts import FrozenCountsCIR
from skbayes_sg.kernels.samplers.gibbs import Gibbs
from skbayes_sg.kernels.samplers.hmc import HMC
from skbayes_sg.kernels.samplers.lazy_langevin import LazyLangevin
from skbayes_sg.kernels.samplers.leimkuhler_matthews import LeimkuhlerMatthews
from skbayes_sg.kernels.samplers.mala import MALA
from skbayes_sg.kernels.samplers.psgld import PSGLD
from skbayes_sg.kernels.samplers.recipe import Recipe
from skbayes_sg.kernels.samplers.sghmc import SGHMC
from skbayes_sg.kernels.samplers.sgld import SGLD
from skbayes_sg.kernels.samplers.sgnht import SGNHT
from skbayes_sg.kernels.samplers.sgrhmc import SGRHMC
from skbayes_sg.kernels.samplers.sgrld import SGRLD
from skbayes_sg.kernels.samplers.sgrld_dense import DenseSGRLD
from skbayes_sg.kernels.samplers.split_hmc import SplitHMC

# Samplers that only work with certain models are not listed: `LazyLangevin` needs rows
# that depend on few parameters each, `Gibbs` local variables that are kept, `SplitHMC`
# products with the covariance of a Gaussian prior, and others bounded, positive or
# simplex parameters.
SAMPLERS = {
    "sgld": SGLD,
    "sgld-lm": LeimkuhlerMatthews,
    "psgld": PSGLD,
    "sgrld": SGRLD,
    "sgrld-dense": DenseSGRLD,
    "sghmc": SGHMC,
    "sgrhmc": SGRHMC,
    "baoab": BAOAB,
    "sgnht": SGNHT,
    "badodab": BADODAB,
    "mala": MALA,
    "hmc": HMC,
    "recipe": Recipe,
}

__all__ = [
    "BADODAB",
    "BAOAB",
    "ConstantMassCIR",
    "ExpandedMean",
    "FrozenCIR",
    "FrozenCountsCIR",
    "HMC",
    "MALA",
    "PSGLD",
    "Projected",
    "Reflected",
    "SAMPLERS",
    "SCIR",
    "SGHMC",
    "SGLD",
    "SGNHT",
    "SGRHMC",
    "SGRLD",
    "DenseSGRLD",
    "Gibbs",
    "LazyLangevin",
    "LeimkuhlerMatthews",
    "Recipe",
    "SplitHMC",
    "bounded",
]
