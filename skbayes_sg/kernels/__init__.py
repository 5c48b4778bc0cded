"""The numba layer: generic operations, components and the one compiled loop."""
