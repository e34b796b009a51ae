# carrel: build, test, measure. Everything that these targets need of the
# environment is set here; nothing depends on `go env -w` or a shell's settings.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: build install test race bench lint fmt vet staticcheck cross soak setup setup-bench clean

GO ?= go
# No C compiler is needed. The stage takes its capabilities from all threads,
# which the Go runtime offers only to programs without C code; with it the stage
# has to start a second time.
export CGO_ENABLED := 0
export GOFLAGS := -mod=readonly
export GOWORK := off

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Rooms with goroutines, without those that need the walls: the race detector
# needs C code in the program, which makes those a different program.
RACE := ./internal/agents/... ./internal/hostexec/... ./internal/config/... ./internal/egress/... ./internal/policy/... ./internal/tally/... ./bench/...
FUZZTIME ?= 60s
SOAKCOUNT ?= 5
COUNTS ?=
SKIPS ?= test/allowed-skips
# Tests side by side in a package: most wait for processes and clocks much of their time.
PARALLEL ?= $(shell echo $$(($$(nproc) * 2)))
# make bench ONLY=history: one suite, printed and not kept.
ONLY ?=

build:
	$(GO) build -trimpath -o . ./cmd/...

# The small programs have to lie beside the big one, with its owner and mode.
PREFIX ?= $(HOME)/.local
install: build
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 carrel carrel-stage carrel-file carrel-shim carrel-relay "$(DESTDIR)$(PREFIX)/bin/"

# -count=1: run, never remember; the end-to-end tests depend on the machine.
# -timeout: per package; a hang is reported with its stacks long before CI ends.
# -json: the tally counts, and refuses skips whose reason is not listed.
# -vet=off: `make lint` has all of vet. -ldflags: without what only debuggers read.
test: setup
	$(GO) build -o bin/tally ./internal/tally
	$(GO) test -json -count=1 -timeout=75m -vet=off -ldflags="-s -w" -parallel=$(PARALLEL) ./... </dev/null | bin/tally -allow $(SKIPS) -counts "$(COUNTS)"

# What the tests use of the system, as root; anyone else is told the one command.
setup:
	.ci/setup test

setup-bench:
	.ci/setup bench

race:
	CGO_ENABLED=1 $(GO) test -race -count=1 -timeout=10m $(RACE)

bench: setup-bench
	$(GO) build -trimpath -o bench/out/ ./cmd/...
	$(GO) build -trimpath -o bench/out/bench ./bench
	cd bench/fuseloop && $(GO) build -trimpath -o ../out/fuseloop ./main.go
	bench/out/bench -carrel bench/out/carrel $(if $(ONLY),-only '$(ONLY)',-results bench/RESULTS.md)

lint: fmt vet staticcheck

fmt:
	@out=$$(gofmt -l bench cmd internal $(wildcard test)); if [ -n "$$out" ]; then echo "not formatted: $$out"; exit 1; fi

vet:
	GOOS=linux $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

staticcheck:
	GOFLAGS= $(GO) run $(STATICCHECK) ./...

cross:
	mkdir -p bin/linux-amd64 bin/linux-arm64
	GOOS=linux GOARCH=amd64 $(GO) build -trimpath -o bin/linux-amd64/ ./cmd/...
	GOOS=linux GOARCH=arm64 $(GO) build -trimpath -o bin/linux-arm64/ ./cmd/...

# The long ones: the race detector, every fuzz target for FUZZTIME, property
# tests with many more cases, and the end-to-end tests SOAKCOUNT times in
# random order.
soak: setup race
	.ci/soak "$(FUZZTIME)" "$(SOAKCOUNT)"

clean:
	rm -rf bin bench/out carrel
