"""Where chains start, in which units they move, and how far: one file per family."""
