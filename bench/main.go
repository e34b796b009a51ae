// Command bench measures what the walls cost: the start of a command, memory,
// large projects with deny globs, many masks, the network, and everyday work under
// the broker. It measures undo, and workspaces that stay with their desktops. It measures carrel, doing
// without walls, and other programs that put a command behind some.
//
// Its words: a contender is one way to run the same command; a suite is one table of contenders
// that did the same thing. Machines differ and change while they are measured, so what counts
// are ratios: all contenders of a suite run in one go, one after the other in an order that is
// drawn anew each round. The table gives medians, lower quartiles and minima side by side.
//
// Limits: a contender that is not installed or does not work here is shown as
// such and never with a number. The walls of the contenders differ in what they
// hold; the report says what each was started with. Nothing here decides
// whether tests pass.
//
// It is a program of its own and imports nothing of this module.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// options are the flags.
type options struct {
	carrel  string
	results string
	rounds  int
	files   int
	seed    uint64
	fuse    string
	only    string
	calls   string
	listen  bool
	carry   bool
	inner   bool
	net     string
	to, by  string
	host    string
}

func main() {
	var o options
	flag.StringVar(&o.carrel, "carrel", "", "the program to measure")
	flag.StringVar(&o.results, "results", "", "file for the report; empty for standard output only")
	flag.IntVar(&o.rounds, "rounds", 40, "rounds of each start-up suite")
	flag.IntVar(&o.files, "files", 50_000, "files of the large project")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the order of runs")
	flag.StringVar(&o.fuse, "fuseloop", "bench/out/fuseloop", "bench/fuseloop as a program; without it the broker is not compared with FUSE")
	flag.StringVar(&o.only, "only", "", "measure only: "+suiteNames+", a table of desktop "+
		"(desktop-ready, -shots, -input, -windows, -tree, -filter, -memory, -many), or one job of the broker by name")
	flag.StringVar(&o.calls, "calls", "", "for bench's own use: time calls in this new directory")
	flag.BoolVar(&o.listen, "listen", false, "for bench's own use: stop the calls of the command that follows, and let them go on")
	flag.BoolVar(&o.carry, "carry", false, "for bench's own use: as -listen, and make the calls")
	flag.BoolVar(&o.inner, "listened", false, "see -listen")
	flag.StringVar(&o.net, "net", "", "for bench's own use: do a job of the network's suites with the server -to, by the proxy -by")
	flag.StringVar(&o.to, "to", "", "see -net")
	flag.StringVar(&o.by, "by", "", "see -net")
	flag.StringVar(&o.host, "host", "", "for bench's own use: do a job of the suite of host commands")
	flag.Parse()
	if err := start(o); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// start measures, or does inside what another one measures.
func start(o options) error {
	switch {
	case o.inner:
		return listened(flag.Args())
	case o.listen, o.carry:
		return listenFor(flag.Args(), o.carry)
	case o.calls != "":
		return driveCalls(os.Stdout, o.calls)
	case o.net != "":
		return driveNetwork(os.Stdout, o.net, o.to, o.by)
	case o.host != "":
		return driveHost(os.Stdout, o.host, flag.Args())
	}
	return run(o, os.Stdout)
}

// run measures every suite and writes the report.
func run(o options, out io.Writer) error {
	if o.carrel == "" || o.rounds < 1 {
		return fmt.Errorf("-carrel is missing or -rounds is below 1")
	}
	carrel, err := filepath.Abs(o.carrel)
	if err != nil {
		return fmt.Errorf("finding %q: %w", o.carrel, err)
	}
	fuse, err := filepath.Abs(o.fuse)
	if err != nil {
		return fmt.Errorf("finding %q: %w", o.fuse, err)
	}
	parent, err := fixtureParent()
	if err != nil {
		return err
	}
	f, err := newFixture(parent, o.files)
	if err != nil {
		return err
	}
	b := &bench{fixture: f, carrel: carrel, fuseloop: fuse, order: rand.New(rand.NewPCG(o.seed, 0)), rounds: o.rounds, progress: os.Stderr}
	b.whenAsked()
	defer b.finish()
	if err := f.fill(); err != nil {
		return err
	}
	b.peers = findPeers(carrel, f)
	r := newReport(o, b.peers)
	suites, err := b.suites(o.only)
	if err != nil {
		return err
	}
	for i, suite := range suites {
		one := suite()
		if lasting.Err() != nil {
			return errors.New("ended by a signal")
		}
		r.tables = append(r.tables, one)
		r.missing = len(suites) - i - 1
		if err := r.save(); err != nil { // now: it may be ended before the last
			return err
		}
	}
	_, err = io.WriteString(out, r.markdown())
	return err
}

const suiteNames = "walls, network, history, review, broker, calls, undo, million, desks, mcp, stdio, hostexec, containers, desktop"

// suites gives those that a word names, all for none.
func (b *bench) suites(only string) ([]func() table, error) {
	w, d, n, h := &wallSuite{b}, &deskSuite{b}, &networkSuite{b}, &historySuite{bench: b}
	desktop := &desktopSuite{d}
	walls := []func() table{w.startTrue, w.startGit, w.memory, w.largeProject, w.masks}
	everyday := func() table { return h.broker(jobs) }
	calls := []func() table{func() table { return h.calls(tmpfs) }, func() table { return h.calls(ext4) }}
	undo := []func() table{h.undo, h.clones}
	inContainers := func() table { return containers(b) }
	broker := slices.Concat(h.historySuites(), []func() table{everyday}, calls, undo, []func() table{h.million})
	switch only {
	case "":
		agents := []func() table{d.agentTools, d.jsonLines, d.hostCommands, inContainers}
		return slices.Concat(walls, d.deskSuites(), agents, desktop.desktopSuites("desktop"), n.networkSuites(), broker), nil
	case "walls":
		return walls, nil
	case "network":
		return n.networkSuites(), nil
	case "broker":
		return broker, nil
	case "calls":
		return calls, nil
	case "history":
		return h.historySuites(), nil
	case "review":
		return []func() table{func() table { return h.reviewed(ext4) }}, nil
	case "undo":
		return undo, nil
	case "desks":
		return d.deskSuites(), nil
	case "mcp":
		return []func() table{d.agentTools}, nil
	case "stdio":
		return []func() table{d.jsonLines}, nil
	case "hostexec":
		return []func() table{d.hostCommands}, nil
	case "containers":
		return []func() table{inContainers}, nil
	case "million":
		return []func() table{h.million}, nil
	}
	if list := desktop.desktopSuites(only); list != nil {
		return list, nil
	}
	i := slices.IndexFunc(jobs, func(j job) bool { return j.name == only })
	if i < 0 {
		return nil, fmt.Errorf("-only %q: want %s or a job's name", only, suiteNames)
	}
	return []func() table{func() table { return h.broker(jobs[i : i+1]) }}, nil
}
