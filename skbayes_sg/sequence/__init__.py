"""Sequences: hidden Markov models and state-space models."""
