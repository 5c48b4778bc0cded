"""Chains, posterior modes, step sizes and diagnostics, without scikit-learn."""
