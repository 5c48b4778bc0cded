"""Matrices and counts as products of factors."""

from skbayes_sg.decomposition._lda import SGMCMCLatentDirichletAllocation
from skbayes_sg.decomposition._matrix_factorization import SGBPMFRecommender

__all__ = ["SGBPMFRecommender", "SGMCMCLatentDirichletAllocation"]
