.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test check deployment templates build invoke deploy clean

TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := target/venv
TOOLS := $(VENV)/requirements.stamp
MINISTACK := target/ministack
SPEED ?= 60
ARCHITECTURE ?= arm64

help: ## List these targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

run: ## Run the demo: real messages, retries, dead letters and an alarm
	cargo build --workspace --bins
	$(TARGET)/debug/redrive local --binary $(TARGET)/debug/orders --parameter MessageTimeLimit=2 \
		--send events/demo.jsonl --speed $(SPEED) --until-idle

test: $(TOOLS) ## Run all tests
	cargo test --workspace

check: $(TOOLS) ## Check everything that CI checks
	.ci/run

deployment: $(TOOLS) $(MINISTACK)/requirements.stamp ## Deploy the stack to MiniStack, send it the demo, compare with make run
	cargo build --workspace --bins
	$(VENV)/bin/python tools/deployment.py $(MINISTACK)/bin/ministack $(TARGET)/debug/orders $(TARGET)/debug/redrive

templates: ## Carry template.yaml over to templates/
	sed -e 's/Orders/Work/g; s/Binary: orders/Binary: {{ project_name }}/; s/orders/work/g' template.yaml > templates/consumer/template.yaml

build: $(TOOLS) ## Build the function for Lambda, into target/lambda/arm64 and target/lambda/x86-64
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda build --release --bin orders --arm64 --lambda-dir $(TARGET)/lambda/arm64
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda build --release --bin orders --x86-64 --lambda-dir $(TARGET)/lambda/x86-64

invoke: $(TOOLS) ## Send an event to the function: make invoke EVENT=events/mixed.json
	@tools/invoke $(or $(EVENT),$(error which event? make invoke EVENT=events/mixed.json))

deploy: $(TOOLS) ## Build and deploy the stack with SAM; needs AWS credentials
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sam build --parameter-overrides Architecture=$(ARCHITECTURE)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sam deploy --guided --capabilities CAPABILITY_IAM --parameter-overrides Architecture=$(ARCHITECTURE)

clean: ## Remove everything that was built
	cargo clean
	rm -rf .aws-sam

# Python tools that the tests and recipes call, in wheels only: nothing is compiled.
$(TOOLS): tools/requirements.txt
$(MINISTACK)/requirements.stamp: tools/requirements-ministack.txt
$(TOOLS) $(MINISTACK)/requirements.stamp:
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --requirement $<
	touch $@
