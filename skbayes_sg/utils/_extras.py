"""Optional dependencies, with an error that tells how to install a missing one."""

import contextlib


@contextlib.contextmanager
def extra(name, purpose):
    """Turn an ImportError in the body into one that names the extra to install."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {error.name or 'a package'}, which is not installed; "
            f"`pip install skbayes_sg[{name}]` installs it"
        ) from error
