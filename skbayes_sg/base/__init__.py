"""What all estimators share: the skeleton of a fit, diagnostics, callbacks, files."""
