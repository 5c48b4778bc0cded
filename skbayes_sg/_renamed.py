"""Old module names, kept importable so that pickles of earlier versions still load.

A pickle names the module of each class. Importing an old module name returns the module
that holds its classes now.
"""

import importlib
import importlib.abc
import importlib.util
import sys

OLD_NAMES = {  # of version 0.1
    "skbayes_sg._bpmf": "skbayes_sg.decomposition",
    "skbayes_sg._consensus": "skbayes_sg.ensemble",
    "skbayes_sg._logistic": "skbayes_sg.linear_model",
    "skbayes_sg._mlp": "skbayes_sg.neural_network",
    "skbayes_sg._saving": "skbayes_sg.base",
    "skbayes_sg._search": "skbayes_sg.model_selection",
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in OLD_NAMES:
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        return importlib.import_module(OLD_NAMES[spec.name])

    def exec_module(self, module):
        pass


def find_old_names():
    """Let imports of old names find the new modules."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
