"""What needs PyTensor is tested in an environment that has it; see the Makefile."""

import importlib.util

NEED_PYTENSOR = ["skbayes_sg/custom/*", "tests/custom/*"]
collect_ignore_glob = [] if importlib.util.find_spec("pytensor") else NEED_PYTENSOR
