"""Functions that only compiled code calls, without machine code of their own.

Numba optimizes every function together with all that it calls, and makes machine code
of it. For a function that only other compiled functions call, both are done again
within each caller, so that nested calls are optimized as often as they are deep. Here
the code of such a function is only linked into its callers; the entry point optimizes
all of it, once. Compilation takes about a third less time.

This file alone uses internal parts of numba. Where these are missing, functions are
compiled as usual.
"""

from numba.core import codegen
from numba.core.compiler import Compiler

USED = ("_get_module_for_linking", "_finalize_dynamic_globals", "_ensure_finalized")
SUPPORTED = all(hasattr(codegen.JITCodeLibrary, name) for name in USED)


class InnerLibrary(codegen.JITCodeLibrary):
    """Code that is only linked into that of callers."""

    def finalize(self):
        """Link the code of the functions that are called."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            module = library._get_module_for_linking()
            self._final_module.link_in(module, preserve=True)
        self._final_module.verify()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Return 0: Python cannot call the function."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        """Numba stores what Python needs for a call here: nothing."""
        return _NoEnvironments


class _NoEnvironments:
    @staticmethod
    def set_env(name, environment):
        """Do nothing."""


class InnerCompiler(Compiler):
    """Numba's compiler for functions that only compiled code calls."""

    def __init__(self, typingctx, targetctx, library, *args):
        super().__init__(typingctx, targetctx, library, *args)
        if library is None and SUPPORTED:
            self.state.library = InnerLibrary(self.state.targetctx.codegen(), "inner")
            self.state.library.enable_object_caching()
