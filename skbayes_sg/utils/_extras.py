"""Optional dependencies: imported where they are used, named where they are missing."""

import contextlib


@contextlib.contextmanager
def extra(name, purpose):
    """Turn an ImportError in the body into one that names the extra to install."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {error.name or 'a package'}, which is not installed; "
            f"`pip install skbayes_sg[{name}]` brings it"
        ) from error
