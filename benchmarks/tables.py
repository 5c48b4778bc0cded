"""Tables that read well in a terminal and that Markdown shows as tables."""


class Table:
    """A table whose rows are printed as soon as they are known.

    The first `n_labels` columns are aligned to the left, the others to the right.
    """

    def __init__(self, *columns, n_labels=1):
        self.widths = [max(len(column), 7) for column in columns]
        self.n_labels = n_labels
        print()
        self._line(columns)
        rules = ["-" * width for width in self.widths]
        rules[n_labels:] = [f"{rule[:-1]}:" for rule in rules[n_labels:]]
        self._line(rules)

    def row(self, *cells):
        """Print a row; None is shown as a dash, and texts are shown as they are."""
        self._line(["-" if cell is None else str(cell) for cell in cells])

    def _line(self, cells):
        self.widths = [max(w, len(c)) for w, c in zip(self.widths, cells, strict=True)]
        padded = [
            f"{cell:<{width}}" if i < self.n_labels else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(cells, self.widths, strict=True))
        ]
        print(f"| {' | '.join(padded)} |", flush=True)


def note(text):
    """Print a sentence between tables, as a paragraph."""
    print(f"\n{text}", flush=True)
