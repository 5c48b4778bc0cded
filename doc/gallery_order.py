"""The order of the examples in the gallery."""


class PlotsFirst:
    """Sort examples by file name, those that the gallery does not run last."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, file):
        """Return the sort key of a file name."""
        return (not file.startswith("plot_"), file)

    def __repr__(self):
        """Return what the cache of Sphinx compares."""
        return "<PlotsFirst>"
