# Every target makes its environment by itself; python3 and make are enough.
# An existing .venv is reused, and installed into again only when pyproject.toml changes.
PYTHON ?= python3
BIN = .venv/bin
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST = $(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist loadfile
PYTEST_AUTODIFF = $(ONE_THREAD) .venv-autodiff/bin/python -m pytest -q \
	tests/custom skbayes_sg/custom doc/own_models.rst

.PHONY: demo test test-autodiff test-long lint doc bench bench-quick clean

demo: .venv/.plot,progress,arviz
	$(BIN)/python examples/demo.py

test: .venv/.dev
	$(PYTEST)

# PyTensor needs an older numba than the rest: models of the user's own are tested in an
# environment of their own.
test-autodiff: .venv-autodiff/.installed
	$(PYTEST_AUTODIFF) -m "long or not long"

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

bench: .venv-bench/.installed
	.venv-bench/bin/python benchmarks/run.py

bench-quick: .venv-bench/.installed
	.venv-bench/bin/python benchmarks/run.py --quick

clean:
	rm -rf build doc/_build doc/auto_examples doc/generated

# The stamp .venv/.x says that the package is installed with the extras x.
.venv/.%: pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[$*]'
	@touch $@

.venv-autodiff/.installed: pyproject.toml
	@.venv-autodiff/bin/python -m pip --version >/dev/null 2>&1 || \
		$(PYTHON) -m venv .venv-autodiff
	@.venv-autodiff/bin/python -m pip install -q --disable-pip-version-check \
		-e '.[autodiff,pymc,arviz,progress]' 'pytest>=8.2' pandas
	@touch $@

.venv-bench/.installed: pyproject.toml benchmarks/requirements.txt
	@.venv-bench/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install -q --disable-pip-version-check \
		-e '.[plot,progress,arviz,data]' -r benchmarks/requirements.txt
	@touch $@
