"""Inference: chains, modes, step sizes and diagnostics, without scikit-learn."""
