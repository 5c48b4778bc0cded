"""Maps of free numbers to constrained parameters, for `models.Transformed`."""

from skbayes_sg.kernels.maps.additive_log_ratio import AdditiveLogRatio
from skbayes_sg.kernels.maps.bounds import Bounds
from skbayes_sg.kernels.maps.cholesky_covariance import CholeskyCovariance
from skbayes_sg.kernels.maps.correlation import Correlation
from skbayes_sg.kernels.maps.exp import Exp
from skbayes_sg.kernels.maps.interval import Interval
from skbayes_sg.kernels.maps.joined import Joined, joined
from skbayes_sg.kernels.maps.normalized_gammas import NormalizedGammas
from skbayes_sg.kernels.maps.ordered import Ordered
from skbayes_sg.kernels.maps.real import Real
from skbayes_sg.kernels.maps.repeated import Repeated
from skbayes_sg.kernels.maps.softplus import Softplus
from skbayes_sg.kernels.maps.stationary import Stationary
from skbayes_sg.kernels.maps.stick_breaking import StickBreaking
from skbayes_sg.kernels.maps.tanh import Tanh

__all__ = [
    "AdditiveLogRatio",
    "Bounds",
    "CholeskyCovariance",
    "Correlation",
    "Exp",
    "Interval",
    "Joined",
    "NormalizedGammas",
    "Ordered",
    "Real",
    "Repeated",
    "Softplus",
    "Stationary",
    "StickBreaking",
    "Tanh",
    "joined",
]
