"""Communities of graphs."""

from skbayes_sg.cluster._blockmodel import SGMCMCMixedMembershipBlockmodel

__all__ = ["SGMCMCMixedMembershipBlockmodel"]
