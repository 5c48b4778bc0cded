"""Posteriors merged from shards of the data."""

from skbayes_sg.ensemble._consensus import ConsensusClassifier

__all__ = ["ConsensusClassifier"]
