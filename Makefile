# Every target makes its environment by itself; python3 and make are enough.
# An existing .venv is reused, and installed into again only when pyproject.toml changes.
PYTHON ?= python3
BIN = .venv/bin
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# A file stays with one worker, which compiles its components once; in the order of the
# tree, small files come last, so that neither worker waits for the other at the end.
PYTEST = $(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist loadfile \
	--no-loadscope-reorder
# Models of the user's own are tested with PyTensor, which holds numba back and so has an
# environment of its own; PyTensor 3 needs Python 3.12, and a second one where it is found.
NEWER := $(shell for p in python3.13 python3.12; do \
	$$p -c "" 2>/dev/null && echo $$p && break; done)
PYTEST_CUSTOM = bin/python -m pytest -q -n 2 --dist loadfile tests/custom
WITH_PAGES = skbayes_sg/custom doc/own_models.rst -m "long or not long"

.PHONY: demo test test-autodiff test-long lint doc paper paper-quick bench bench-quick clean

demo: .venv/.plot,progress,arviz
	$(BIN)/python examples/demo.py

test: .venv/.dev .venv-autodiff/.installed
	$(PYTEST)
	$(ONE_THREAD) .venv-autodiff/$(PYTEST_CUSTOM)

test-autodiff: .venv-autodiff/.installed $(if $(NEWER),.venv-autodiff-newer/.installed)
	$(ONE_THREAD) .venv-autodiff/$(PYTEST_CUSTOM) $(WITH_PAGES)
	$(if $(NEWER),$(ONE_THREAD) .venv-autodiff-newer/$(PYTEST_CUSTOM) $(WITH_PAGES),\
		@echo "no Python 3.12 or newer: PyTensor 3 was not tested")

test-long: .venv/.dev test-autodiff
	$(PYTEST) -m long

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages of the last build go first: one of a name that has gone is a warning.
doc: .venv/.doc
	@rm -rf doc/generated
	$(BIN)/python -m sphinx -W --keep-going -q -b html doc doc/_build/html
	@echo "doc/_build/html/index.html"

# All tables and figures of the paper, in one page; --quick takes about five minutes.
paper: .venv/.plot,progress,arviz,data
	$(BIN)/python examples/paper/run.py

paper-quick: .venv/.plot,progress,arviz,data
	$(BIN)/python examples/paper/run.py --quick

bench: .venv-bench/.installed
	.venv-bench/bin/python benchmarks/run.py

bench-quick: .venv-bench/.installed
	.venv-bench/bin/python benchmarks/run.py --quick

clean:
	rm -rf build doc/_build doc/auto_examples doc/generated

# The stamp .venv/.x says that the package is installed with the extras x.
.venv/.%: pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -e '.[$*]'
	@touch $@

.venv-autodiff-newer/.installed: PYTHON = $(NEWER)
.venv-autodiff/.installed .venv-autodiff-newer/.installed: pyproject.toml
	@$(@D)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install -q --disable-pip-version-check --no-compile \
		-e '.[autodiff,pymc,arviz,progress]' 'pytest>=8.2' pytest-xdist pandas
	@touch $@

.venv-bench/.installed: pyproject.toml benchmarks/requirements.txt
	@.venv-bench/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install -q --disable-pip-version-check \
		-e '.[plot,progress,arviz,data]' -r benchmarks/requirements.txt
	@touch $@
