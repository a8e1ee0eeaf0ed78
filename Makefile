SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# The steps share one build directory and one terminal.
.NOTPARALLEL:

DATA_DIR ?= data
DENY := .tools/bin/cargo-deny --workspace --locked
BUF := ../.tools/bin/buf
# Another path takes a Valkey of your own.
VALKEY_SERVER ?= .servers/valkey-server

.PHONY: help run build test bench lint advisories fmt clean install

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: install ## Start the service with a Redis Cluster of its own; data is kept in DATA_DIR (data)
	cargo run --release --locked -p socialgraph-server --bin socialgraph -- dev --data-dir $(DATA_DIR)

build: ## Build the socialgraph binary
	@scripts/install.sh
	cargo build --release --locked -p socialgraph-server

test: install $(VALKEY_SERVER) ## Run all tests, against real Redis and Valkey servers
	VALKEY_SERVER="$$(realpath $(VALKEY_SERVER))" cargo test --release --locked --workspace

bench: install ## Run the benchmarks
	cargo bench --profile release --locked -p socialgraph

lint: .tools/installed ## Check format, lints, layers, contract, licences and sources
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	python3 scripts/layers.py --self-test
	python3 scripts/layers.py
	cd proto && $(BUF) lint && $(BUF) format -d --exit-code
	cargo fetch --locked --target x86_64-unknown-linux-gnu
	$(DENY) --offline check --hide-inclusion-graph bans licenses sources

advisories: .tools/installed ## Look the dependencies up in the advisory database, which is fetched
	$(DENY) check advisories

fmt: .tools/installed ## Format the sources
	cargo fmt --all
	cd proto && $(BUF) format -w

clean: ## Remove what was built and installed here, and keep the data
	cargo clean
	rm -rf .tools .servers

install:
	@scripts/install.sh redis

.tools/installed: scripts/tools.txt
	@scripts/install.sh venv
	python3 -m venv --clear .tools
	.tools/bin/pip install --quiet --disable-pip-version-check --requirement scripts/tools.txt
	touch $@

.servers/valkey-server: scripts/servers.txt
	@scripts/install.sh venv
	scripts/valkey.sh $@
