# Every target makes its environment by itself; python3 and make are enough.
# An existing .venv is reused, and installed into again only when pyproject.toml changes.
PYTHON ?= python3
BIN = .venv/bin
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

.PHONY: demo test test-long lint doc bench bench-quick clean

demo: .venv/.plot,progress,arviz
	$(BIN)/python examples/demo.py

test: .venv/.dev
	$(PYTEST)

test-long: .venv/.dev
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

.venv-bench/.installed: pyproject.toml benchmarks/requirements.txt
	@.venv-bench/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install -q --disable-pip-version-check \
		-e '.[plot,progress,arviz,data]' -r benchmarks/requirements.txt
	@touch $@
