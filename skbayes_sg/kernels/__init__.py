"""The compiled layer: generic operations, components and the loop of a chain."""
