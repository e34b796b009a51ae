# carrel: build, test, measure. Everything that these targets need of the
# environment is set here; nothing depends on `go env -w` or a shell's settings.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: build install test test-lima test-vm race bench lint fmt vet staticcheck deadcode cross soak setup setup-bench clean

GO ?= go
# No C compiler is needed. The stage takes its capabilities from all threads,
# which the Go runtime offers only to programs without C code; with it the stage
# has to start a second time.
export CGO_ENABLED := 0
export GOFLAGS := -mod=readonly
export GOWORK := off

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE := golang.org/x/tools/cmd/deadcode@v0.52.0
# Rooms with goroutines, without those that need the walls: the race detector
# needs C code in the program, which makes those a different program.
RACE := ./internal/agents/... ./internal/hostexec/... ./internal/config/... ./internal/egress/... ./internal/policy/... ./internal/testcount/... ./bench/...
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
	install -m 755 carrel carrel-stage carrel-file carrel-shim carrel-relay carrel-gvisor "$(DESTDIR)$(PREFIX)/bin/"

# -count=1: run, never remember; the end-to-end tests depend on the machine.
# -timeout: per package; a hang is reported with its stacks long before CI ends.
# -json: testcount counts, and refuses skips whose reason is not listed.
# -vet=off: `make lint` has all of vet. -ldflags: without what only debuggers read.
test: setup
	$(GO) build -o bin/testcount ./internal/testcount
	$(GO) test -json -count=1 -timeout=75m -vet=off -ldflags="-s -w" -parallel=$(PARALLEL) ./... </dev/null | bin/testcount -allow $(SKIPS) -counts "$(COUNTS)"

# With the real limactl and machines that boot, without KVM: some 30 minutes, and longer the first time.
# make test-lima ONLY=TestRunInMachine: one test.
test-lima:
	ONLY='$(ONLY)' .ci/lima

# With machines of QEMU that boot, without KVM: some three minutes.
test-vm:
	.ci/setup vm
	$(GO) test -count=1 -tags vm -timeout=60m -vet=off -run '^(TestRunUnderAnotherKernel|TestWorkspaceUnderAnotherKernel|TestMachineAndSupervisorDie|TestMachinesThatAreRefused|TestSeedInMachine|TestStepsByMarksInMachine)$$' ./test

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

lint: fmt vet staticcheck deadcode

fmt:
	@out=$$(gofmt -l bench cmd internal $(wildcard test)); if [ -n "$$out" ]; then echo "not formatted: $$out"; exit 1; fi

vet:
	GOOS=linux $(GO) vet ./...
	GOOS=linux $(GO) vet -tags vm ./test
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

# carrel-gvisor is 20 lines, for which it would read all of gVisor.
staticcheck:
	GOFLAGS= $(GO) run $(STATICCHECK) $$($(GO) list ./... | grep -v /cmd/carrel-gvisor$$)

# Functions that no shipped program reaches, for both machines; test/only-tests has
# those that tests of another package, or the pages that they write, are for.
deadcode:
	GOFLAGS= GOBIN="$(CURDIR)/bin" $(GO) install $(DEADCODE)
	for arch in amd64 arm64; do GOOS=linux GOARCH=$$arch bin/deadcode ./cmd/... >bin/dead-$$arch; done
	@dead=$$(sed 's/:[0-9:]* unreachable func:/:/' bin/dead-* | sort -u | grep -vxFf test/only-tests || true); \
	if [ -n "$$dead" ]; then echo "nothing reaches these functions; delete them:"; echo "$$dead"; exit 1; fi

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
