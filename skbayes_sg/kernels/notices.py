"""Messages to users during long computations, through the logger "skbayes_sg".

By default Python writes them to the standard error. To turn them off:

    logging.getLogger("skbayes_sg").setLevel(logging.ERROR)
"""

import logging

LOGGER = logging.getLogger("skbayes_sg")


def notice(text):
    """Log one line, at the lowest level that Python shows by default."""
    LOGGER.warning("skbayes_sg: %s", text)
