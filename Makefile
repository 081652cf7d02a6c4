# The commands of a developer's day. Each installs what it needs (scripts/bootstrap) and builds what it runs.
.PHONY: help demo test test-slow test-asan test-tsan nightly bench lint lint-changed check-style format fuzz install deb clean
.DEFAULT_GOAL := help

SOURCES = $(shell git ls-files '*.h' '*.cc')
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: ## build, then the main job on Fashion-MNIST: plan, train privately, verify, be refused, look at the report
	@scripts/bootstrap build demo
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target noisefloor_program
	@rm -rf build/demo
	@build/release/noisefloor/cli/noisefloor demo --output build/demo

test: ## build and run all tests but the slow ones
	@scripts/bootstrap test
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev
	@ctest --preset dev

test-slow: ## the statistical and soak tests that take minutes
	@scripts/bootstrap test
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev
	@ctest --preset slow

test-asan: ## tests under the address and undefined-behaviour sanitizers
	@scripts/bootstrap test
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan
	@ctest --preset asan

test-tsan: ## tests under the thread sanitizer
	@scripts/bootstrap test
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan
	@ctest --preset tsan

bench: ## measure, with the answers checked; JSON in build/bench/
	@scripts/bootstrap bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench
	@build/bench/bench/random_bench --benchmark_out=build/bench/random.json --benchmark_out_format=json
	@build/bench/bench/accounting_bench build/bench/accounting.json
	@build/bench/bench/accounting_grid 5
	@build/bench/bench/training_bench build/bench/training.json
	@build/bench/bench/secagg_bench build/bench/secagg.json
	@build/bench/bench/federated_bench build/bench/federated.json
	@tests/support/postgres_server start build/bench/postgres_url
	@build/bench/bench/ledger_bench build/bench build/bench/ledger.json build/bench/postgres_url && \
	  build/bench/bench/query_bench build/bench/query.json --postgres build/bench/postgres_url; \
	  status=$$?; tests/support/postgres_server stop build/bench/postgres_url; exit $$status

check-style: ## format check and rules of the house: seconds
	@scripts/bootstrap lint
	@clang-format-14 --dry-run --Werror $(SOURCES)
	@scripts/check_rules

lint: check-style ## format check, rules of the house, every header by itself, and clang-tidy on all sources
	@cmake --preset clang >/dev/null
	@cmake --build --preset clang --target noisefloor_header_probes
	@scripts/tidy $$(sed -n 's/.*"file": "\(.*\)".*/\1/p' build/clang/compile_commands.json | \
	  grep -E '^$(CURDIR)/(noisefloor|examples)/.*\.cc$$' | grep -v _test.cc)

lint-changed: check-style ## the same, with clang-tidy on what changed since main (TIDY_MAX files, 20)
	@cmake --preset clang >/dev/null
	@scripts/tidy_changed

nightly: ## what takes hours: all tests under both sanitizers, slow tests, clang-tidy on all, every fuzzer
	@$(MAKE) test test-slow test-asan test-tsan lint fuzz

format: ## format all sources in place
	@scripts/bootstrap lint
	@clang-format-14 -i $(SOURCES)

fuzz: ## run each fuzzer for FUZZ_SECONDS (60)
	@scripts/bootstrap fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz
	@for fuzzer in build/fuzz/fuzz/*_fuzzer; do \
	  corpus=build/fuzz/corpus/$$(basename $$fuzzer); mkdir -p $$corpus; \
	  $$fuzzer -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 $$corpus fuzz/seeds/$$(basename $$fuzzer) || exit 1; done

install: ## build the release and install it: PREFIX (/usr/local), DESTDIR
	@scripts/bootstrap build
	@cmake --preset release >/dev/null
	@cmake --build --preset release
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

deb: ## a Debian package in build/: program, libraries, headers, completion, manual page
	@scripts/bootstrap package
	@cmake --preset release >/dev/null
	@cmake --build --preset release
	@cd build && cpack --config release/CPackConfig.cmake

clean: ## remove everything that was built
	@rm -rf build
