"""Communities of graphs.

As in scikit-learn, whose clustering of graphs is in this room: `network` would be taken
for neural networks, which have a room of their own.
"""

from skbayes_sg.cluster._blockmodel import SGMCMCMixedMembershipBlockmodel

__all__ = ["SGMCMCMixedMembershipBlockmodel"]
