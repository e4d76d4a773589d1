# `make train` and `make test` do all the set-up; they need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Without bytecode files every process that a test starts would compile the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: train test test-all fast-tests all-tests lint audit bench report clean

train: $(STAMP)  ## train a door-opening policy from the embedded demonstrations
	$(BIN)/nppac train --task door --steps 4000 --eval-every 2000 --eval-episodes 32 --challenge-episodes 32 \
		--final-episodes 100 --out runs/door-$$(date +%Y%m%d-%H%M%S)

# The type checker has one core to itself; side by side with the tests neither core is ever idle.
test: $(STAMP)  ## everything that must hold, in a few minutes
	@$(MAKE) --no-print-directory --jobs=2 lint fast-tests

test-all: $(STAMP)  ## the same, and the tests that train
	@$(MAKE) --no-print-directory --jobs=2 lint all-tests

fast-tests: $(STAMP)
	$(BIN)/pytest -n 2

all-tests: $(STAMP)
	XLA_FLAGS=--xla_backend_optimization_level=3 $(BIN)/pytest -n 2 -m ""

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory audit

audit: $(STAMP)  ## known vulnerabilities of the pinned packages, where the database can be reached
	$(BIN)/python benchmarks/audit_dependencies.py

report: $(STAMP)  ## the records of results/ as one page, without the trials that settings were chosen by
	$(BIN)/nppac report $(filter-out %.md %/ablation %/benchmarks %/doctor %/figures %/pendulum %/reliability %/tuning, $(wildcard results/*)) \
		--out docs/report.html

bench: $(STAMP)  ## speed and memory, each beside its peer; wants an idle machine
	$(BIN)/python benchmarks/updates.py
	$(BIN)/python benchmarks/loop.py
	$(BIN)/python benchmarks/epoch.py
	$(BIN)/python benchmarks/whole_run.py
	$(BIN)/python benchmarks/references.py
	$(BIN)/python benchmarks/cores.py
	$(BIN)/python benchmarks/sweep_speed.py
	$(BIN)/python benchmarks/busy_fit.py
	$(BIN)/python benchmarks/gp.py compare --task door
	$(BIN)/python benchmarks/gp.py compare --task halfcheetah --kernel matern52
	$(BIN)/python benchmarks/gp.py variance --task door
	$(BIN)/python benchmarks/gp.py variance --task halfcheetah --points 5000
	$(BIN)/python benchmarks/tables.py

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache
