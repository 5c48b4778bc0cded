"""Run the examples that the gallery does not run, and keep their pictures.

    python doc/store_pictures.py [NAME ...]

They take minutes, read data that may have to be downloaded, or need extras. What an
example shows last is stored as _static/gallery/NAME.png, which is part of its page.
"""

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
EXAMPLES, PICTURES = HERE.parent / "examples", HERE / "_static" / "gallery"
OTHERS = {"demo"}  # which are not part of the gallery


def stored():
    """Return the names of the examples whose pictures are stored."""
    names = {file.stem for file in EXAMPLES.glob("*.py")} - OTHERS
    return sorted(name for name in names if not name.startswith("plot_"))


def store(name):
    """Run an example and store its last figure."""
    plt.show = lambda: None
    file = EXAMPLES / f"{name}.py"
    sys.argv = [str(file)]
    runpy.run_path(str(file), run_name="__main__")
    plt.savefig(PICTURES / f"{name}.png", dpi=80)
    plt.close("all")


if __name__ == "__main__":
    for name in sys.argv[1:] or stored():
        print(f"--- {name}", flush=True)
        store(name)
