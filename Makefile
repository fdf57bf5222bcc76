# The two commands a newcomer needs are `make demo` and `make test`; `make` lists the others.
# Everything Python lives in .venv, everything Rust in target/ (or $CARGO_TARGET_DIR).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell scripts/find-python.sh)
VENV := .venv
BIN := $(VENV)/bin
# Without build isolation pip calls the virtual environment's own maturin, so that one is on the PATH.
PIP_INSTALL = PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install --quiet
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Seconds that `make fuzz` gives to each target.
FUZZ_SECONDS ?= 60
# Of `make gallery` and `make sabotage`: quick or full.
BUDGET ?= full
# More arguments for pytest, for example PYTEST_ARGS="-k mgen".
PYTEST_ARGS ?=

export PYTHON
# One interpreter for every build of the bindings, or cargo would rebuild them at each turn.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Debian keeps ip, tc and nft in sbin, which users other than root do not have on their PATH.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) \
	Cargo.toml Cargo.lock rust-toolchain.toml

.PHONY: help setup endpoint checked-endpoint tested test test-long lint lint-rust lint-python build-rust-tests test-rust test-models compile-tests test-python types fmt bench bench-emulate bench-emulate-peers bench-kills bench-router bench-exact bench-twins bench-peers bench-linux bench-linux-tcp bench-minstrel validation gallery gallery-exact joint-fit sabotage site docs-check demo demo-diagnose fuzz binaries wheel deb dist deny clean \
	system-build system-test system-demo

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*  ## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: system-build $(VENV)/.installed endpoint  ## .venv with airqueue and airqueue-papers in it, and the small binaries

# Whatever builds the bindings asks this interpreter.
$(BIN)/python: | system-build
	"$(PYTHON)" -m venv $(VENV)

# Every distribution of others that ours need to be built, used and tested.
$(VENV)/.required: pyproject.toml papers/pyproject.toml scripts/requirements.py | $(BIN)/python
	$(BIN)/python scripts/requirements.py --all > $(VENV)/requirements.txt
	$(PIP_INSTALL) --requirement $(VENV)/requirements.txt
	touch $@

# airqueue in the virtual environment, and the papers above airqueue (editable: edits of Python files need no rebuild).
# Maturin builds airqueue in release mode.
$(VENV)/.installed: $(VENV)/.required $(RUST_SOURCES)
	$(PIP_INSTALL) --no-build-isolation --no-deps --editable . --editable papers
	rm -f $(VENV)/.checked $(VENV)/.demo
	touch $@

# Built by the profile of the Rust tests, mostly of their libraries: with debug assertions and checks for overflow, and in half of
# the time. The engine is a quarter slower than in release mode.
$(VENV)/.checked: $(VENV)/.required $(RUST_SOURCES)
	MATURIN_PEP517_ARGS="--profile dev" $(PIP_INSTALL) --no-build-isolation --no-deps --editable . --editable papers
	rm -f $(VENV)/.demo
	touch $@

# Built by the quick profile of Cargo.toml: the core alone. What the core needs of others is fetched while the compiler, which
# seldom keeps all processors busy, is at work.
$(VENV)/.demo: pyproject.toml $(RUST_SOURCES) | system-demo $(BIN)/python
	$(BIN)/python scripts/requirements.py > $(VENV)/requirements.txt
	$(BIN)/python scripts/requirements.py --core > $(VENV)/core.txt
	$(PIP_INSTALL) --requirement $(VENV)/requirements.txt
	$(PIP_INSTALL) --requirement $(VENV)/core.txt & needed=$$!; \
		MATURIN_PEP517_ARGS="--profile demo" $(PIP_INSTALL) --no-build-isolation --no-deps --editable . && wait $$needed
	touch $@

# The small binaries, beside the command: options of cargo, and the folder of what it builds. No stamp here: cargo itself knows
# whether there is something to do. The bindings have no binary; with them in the choice cargo builds the crates with the
# features that maturin's build has, and takes what is built.
define link_binaries
	cargo build --quiet $(1) --locked -p airqueue-python -p airqueue-host -p airqueued --bins
	ln -sf "$(abspath $(TARGET))/$(2)/airqueue-endpoint" "$(abspath $(TARGET))/$(2)/airqueued" $(BIN)/
endef

endpoint: $(VENV)/.installed
	$(call link_binaries,--release,release)

checked-endpoint: $(VENV)/.checked
	$(call link_binaries,,debug)

# What the tests run. Where `make setup` has been, its build is taken.
tested: $(if $(wildcard $(VENV)/.installed),setup,system-build $(VENV)/.checked checked-endpoint)

test:  ## lint, then the tests of Rust and Python
	@scripts/test-all.sh

lint: lint-rust lint-python  ## formatting, clippy, ruff, mypy; changes nothing

lint-rust: | $(BIN)/python
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings

lint-python: $(VENV)/.required
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The same examples of every property each time; `make test-rust PROPTEST_RNG_SEED=2` has others.
test-rust: export PROPTEST_RNG_SEED ?= 1
test-rust: system-build $(BIN)/python
	scripts/test-rust.sh

build-rust-tests: | $(BIN)/python
	cargo test --workspace --locked --no-run

test-long: system-test tested  ## tests with the mark `long`, which make test leaves out; takes ten minutes
	$(BIN)/python -m pytest --no-header -rs -m long --numprocesses=auto --dist=loadfile \
		$(addprefix --ignore=,$(MODEL_TESTS)) $(PYTEST_ARGS)

PYTHON_TESTS := test-models compile-tests test-python test-long
# Tests run beside each other: threads of linear algebra would only wait for each other, and use processors to do so.
$(PYTHON_TESTS): export OPENBLAS_NUM_THREADS ?= 1
# What pytest makes of asserts is kept: without that each process that runs tests needs ten seconds to do so again.
$(PYTHON_TESTS): export PYTHONPYCACHEPREFIX := $(abspath $(TARGET))/pycache
$(PYTHON_TESTS): export PYTHONDONTWRITEBYTECODE :=

# The models and the sizing rules, whose every line some test must have run.
MODEL_TESTS := tests/models tests/sizing python/airqueue/models python/airqueue/sizing

test-models: tested
	$(BIN)/coverage erase
	$(BIN)/coverage run --parallel-mode --source=airqueue.models,airqueue.sizing \
		-m pytest --no-header --durations=5 --numprocesses=auto $(MODEL_TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

compile-tests: tested
	$(BIN)/python -m pytest --no-header --collect-only -qq $(addprefix --ignore=,$(MODEL_TESTS)) >/dev/null

# Without root the tests of the bed run in a user namespace; where there is none either they are
# skipped and say so.
test-python: tested
	prefix=$$($(BIN)/python -c \
		'from airqueue.linux.privileges import command_prefix; print(*command_prefix())' \
		2>/dev/null || true); \
	scripts/test-python.sh $$prefix $(BIN)/python -m pytest -v -rfEs --no-header --durations=10 \
		-- $(addprefix --ignore=,$(MODEL_TESTS)) $(PYTEST_ARGS)

types: $(VENV)/.installed  ## the types of scenarios and results, and the tables of docs/reference, from their definitions
	$(BIN)/python scripts/native_types.py
	$(BIN)/python scripts/measurement_types.py

# Any warning is an error, a link without its target too. Nothing is fetched.
site: $(VENV)/.installed  ## the documentation as a site, in target/site
	rm -rf $(TARGET)/site
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html \
		--doctree-dir $(TARGET)/site-doctrees docs $(TARGET)/site
	@echo "The site begins at $(TARGET)/site/index.html."

docs-check: site endpoint  ## every listing of the pages is run, every link followed; takes some minutes
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest --no-header -rs -m "long or not long" --numprocesses=auto \
		tests/test_docs.py tests/test_doc_links.py tests/test_native_types.py $(PYTEST_ARGS)

fmt: $(VENV)/.required  ## format Rust and Python
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: system-demo setup  ## accuracy and duration of the measurement; speed of the models and of meshes
	cargo bench --quiet -p airqueue-wifi
	cargo bench --quiet -p airqueue-qdisc
	cargo bench --quiet -p airqueued
	cargo bench --quiet -p airqueue-control
	cargo bench --quiet -p airqueue-path
	cargo bench --quiet -p airqueue-scenario
	$(BIN)/python benches/models.py
	$(BIN)/python benches/meshes.py
	$(BIN)/python benches/measure.py

bench-emulate: system-demo setup  ## lateness of emulations: real programs on this machine, 5 runs of a minute for each case
	$(BIN)/python benches/emulate.py

bench-emulate-peers: setup  ## emulators side by side: what they carry, and what they add; needs root, installs Debian's ns-3
	$(BIN)/python benches/emulate_peers.py

bench-kills: system-test  ## plans whose processes are killed at 500 random moments; takes six minutes
	AIRQUEUE_KILLS=500 cargo test --quiet --locked -p airqueued random_moments -- --nocapture

# Without root in a user namespace.
bench-router: setup  ## what airqueued costs a router with 500 flows at 100 Mb/s through veth pairs; takes ten minutes
	prefix=$$($(BIN)/python -c \
		'from airqueue.linux.privileges import command_prefix; print(*command_prefix())'); \
	$$prefix $(BIN)/python benches/router_cost.py --airqueued $(BIN)/airqueued

bench-exact: setup  ## the kernel's TCP in exact emulations beside the simulator's, and what these emulations cost
	$(BIN)/python benches/exact.py

bench-twins: setup  ## emulations in real time beside exact ones
	$(BIN)/python benches/twins.py

bench-peers: setup  ## our engine beside ns-2 and ns-3: the same cells, figures and CPU time
	$(BIN)/python -m peers compare --json $(TARGET)/peers.json

validation: $(VENV)/.installed  ## docs/validation.md: where each model holds
	$(BIN)/python -m validation --out docs

gallery-exact: $(VENV)/.installed  ## the kernel's TCP in the papers' networks, measured anew; takes the better part of an hour
	$(BIN)/python -m validation.exact --site $(TARGET)/gallery

sabotage: $(VENV)/.installed  ## the papers' mechanisms switched off one by one, and the first lines of docs/reproduction.md; takes ten minutes to half an hour
	$(BIN)/python -m validation.sabotage --site $(TARGET)/gallery --budget $(BUDGET)

joint-fit: $(VENV)/.installed  ## one search for what the MESH paper does not print, and its lines of docs/reproduction.md; takes the better part of half an hour
	$(BIN)/python -m validation.joint_fit --runs $(TARGET)/joint-fit

gallery: $(VENV)/.installed  ## docs/gallery.md: the papers rebuilt with the full BUDGET; docs/reproduction.md says how long that takes
	$(BIN)/python -m validation.gallery --out docs --site $(TARGET)/gallery --budget $(BUDGET)

bench-linux: $(VENV)/.installed  ## validation/linux/kernel.csv: the kernel's disciplines, measured anew
	$(BIN)/python -m validation.linux

bench-minstrel: $(VENV)/.installed  ## minstrel_kernel.csv: the kernel's Minstrel-HT on links, measured anew
	$(BIN)/python -m validation.minstrel

bench-linux-tcp: $(VENV)/.installed  ## validation/linux/tcp: the kernel's TCP, measured anew
	$(BIN)/python -m validation.linux.tcp

# The demonstration needs the core alone, and no full optimisation. Where `make setup` or `make test` has been, its build is
# taken.
demo: system-demo $(if $(wildcard $(VENV)/.installed),setup,$(if $(wildcard $(VENV)/.checked),tested,$(VENV)/.demo))  ## build a Host AP, measure its queue, write demo/report.html
	mkdir -p demo
	$(BIN)/airqueue testbed measure --queue pfifo:100 --rate 7mbit \
		--json demo/result.json --report demo/report.html
	@echo "The report is demo/report.html, the numbers are in demo/result.json."

demo-diagnose: system-demo setup  ## emulate a home that lags, diagnose it, set what is recommended, diagnose again
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/airqueue emulate examples/diagnose/bloated-home.toml --control /tmp/airqueue-home-$$$$ \
		--run server='airqueue server' --at phone -- examples/diagnose/loop.sh

fuzz: system-build  ## fuzz every parser for FUZZ_SECONDS each (needs cargo-fuzz)
	@scripts/fuzz.sh $(FUZZ_SECONDS)

binaries: system-build  ## static airqueued and airqueue-endpoint for routers, three architectures, below 2 MB each
	scripts/binaries.sh $(TARGET)/binaries

wheel: $(VENV)/.installed  ## one wheel for CPython 3.11 and later, tried in bare virtual environments
	PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON="$(CURDIR)/$(BIN)/python" scripts/wheel.sh $(TARGET)/wheels

deb: system-build  ## the Debian package of airqueued and airqueue-endpoint, with a unit of systemd
	scripts/deb.sh $(TARGET)/debian

dist: $(VENV)/.installed  ## all packages in target/dist, each tried in a clean root; needs make binaries' tools and debootstrap
	PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON="$(CURDIR)/$(BIN)/python" scripts/dist.sh $(TARGET)/dist

deny: system-build  ## licences and origins of the Rust dependencies (needs cargo-deny)
	cargo deny --locked check licenses bans sources

clean:  ## remove what was built
	rm -rf $(VENV) demo .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/airqueue/_native*.so
	find python papers tests benches peers validation -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	rm -rf $(TARGET) fuzz/target

system-build:
	@scripts/ensure-system.sh build

system-test:
	@scripts/ensure-system.sh test

system-demo:
	@scripts/ensure-system.sh demo
