"""What all estimators share: the outline of a fit, diagnostics, callbacks, files."""

from skbayes_sg.base._sampling import BaseSGMCMC
from skbayes_sg.base._saving import SavedDraws, load_draws, save_draws

__all__ = ["BaseSGMCMC", "SavedDraws", "load_draws", "save_draws"]
