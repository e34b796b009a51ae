//go:build linux

// Command difftool does random file operations and prints what each gave. So two runs with the
// same seed in two places can be compared line by line: one on a bare directory, one behind
// walls.
//
//	difftool run -dir DIR -seed N -ops N -procs P -threads T
//	difftool tree DIR     what is there, with metadata
//	difftool race DIR SECONDS [FORBIDDEN...]
//	difftool posix DIR    single promises of a file system, in a new directory
//
// A worker is one thread of one process. Each has a place of its own, where it works at the same
// time as all others. All share one place, where they take turns in a fixed order; so the result
// of every operation depends on the seed alone. Workers of one process have working directories
// and umasks of their own. What differs from run to run (times, inode and descriptor numbers,
// the order of directory entries) is never printed.
//
// Set-user-id bits, device nodes and other people's ids are left out: walls
// refuse them on purpose. Capabilities are given up first, for the same reason:
// a bare directory must not know a root that the walls do not have.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// options say how much is done.
type options struct {
	dir            string
	seed           uint64
	ops            int
	procs, threads int
	full           bool // level full is compared, where more is as outside
	worker         int  // number of this process's first worker; -1 for the parent
}

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "difftool:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) == 2 && args[0] == "tree" {
		return printTree(os.Stdout, args[1])
	}
	if len(args) == 2 && args[0] == "posix" {
		return posix(os.Stdout, args[1])
	}
	if len(args) >= 3 && args[0] == "race" {
		return race(os.Stdout, args[1], args[2], args[3:])
	}
	if len(args) == 0 || args[0] != "run" {
		return errors.New("usage: difftool run FLAGS | difftool tree DIR | difftool posix DIR")
	}
	var o options
	set := flag.NewFlagSet("run", flag.ContinueOnError)
	set.StringVar(&o.dir, "dir", "", "where to work; made anew")
	set.Uint64Var(&o.seed, "seed", 1, "of everything that is random")
	set.IntVar(&o.ops, "ops", 1000, "operations of all workers together")
	set.IntVar(&o.procs, "procs", 1, "processes")
	set.IntVar(&o.threads, "threads", 1, "threads in each")
	set.BoolVar(&o.full, "full", false, "do what only level full does as outside: openat2, and cutting without writing")
	set.IntVar(&o.worker, "worker", -1, "for difftool's own use")
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	if !filepath.IsAbs(o.dir) || o.procs < 1 || o.threads < 1 {
		return errors.New("-dir must be absolute, -procs and -threads at least 1")
	}
	if o.worker >= 0 {
		if err := dropCapabilities(); err != nil {
			return err
		}
		return work(o)
	}
	unix.Umask(0o022)
	if err := os.Mkdir(o.dir, 0o755); err != nil {
		return err
	}
	if err := errors.Join(contain(o.dir), dropCapabilities()); err != nil {
		return err
	}
	return direct(o)
}

// depth is how far below its place's top a worker works: names with ".." must
// not lead from one worker to another.
var depth = strings.Repeat("/n", 12)

func placeOf(o options, name string) string { return o.dir + "/" + name + depth }

// direct makes the places, starts the processes in a ring of pipes and prints
// their logs one after the other.
func direct(o options) error {
	n := o.procs * o.threads
	for i := range n {
		if err := os.MkdirAll(placeOf(o, worker(i)), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(placeOf(o, "shared"), 0o755); err != nil {
		return err
	}
	var reads, writes []*os.File // of worker i: waits on reads[i], wakes writes[i+1]
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		reads, writes = append(reads, r), append(writes, w)
	}
	if _, err := writes[0].Write([]byte{1}); err != nil {
		return err
	}
	logs, wait, err := startProcesses(o, reads, writes)
	if err != nil {
		return err
	}
	for _, f := range append(reads, writes...) {
		f.Close()
	}
	err = wait()
	for _, l := range logs {
		if _, err := io.WriteString(os.Stdout, l.String()); err != nil {
			return err
		}
	}
	return err
}

func worker(i int) string { return "w" + strconv.Itoa(i) }

// startProcesses starts each process with its workers' ends of the ring.
func startProcesses(o options, reads, writes []*os.File) (logs []*strings.Builder, wait func() error, err error) {
	var running []*exec.Cmd
	for p := range o.procs {
		first := p * o.threads
		cmd := exec.Command("/proc/self/exe", "run", "-dir", o.dir, "-seed", fmt.Sprint(o.seed), "-ops", fmt.Sprint(o.ops),
			"-procs", fmt.Sprint(o.procs), "-threads", fmt.Sprint(o.threads), fmt.Sprintf("-full=%v", o.full), "-worker", fmt.Sprint(first))
		for i := first; i < first+o.threads; i++ {
			cmd.ExtraFiles = append(cmd.ExtraFiles, reads[i], writes[(i+1)%len(writes)])
		}
		log := new(strings.Builder)
		cmd.Stdout, cmd.Stderr = log, os.Stderr
		if err := cmd.Start(); err != nil {
			return nil, nil, err
		}
		running, logs = append(running, cmd), append(logs, log)
	}
	return logs, func() error {
		var errs []error
		for _, cmd := range running {
			errs = append(errs, cmd.Wait())
		}
		return errors.Join(errs...)
	}, nil
}

// work is one process: its workers side by side, then their logs.
func work(o options) error {
	logs := make([]strings.Builder, o.threads)
	var all sync.WaitGroup
	errs := make([]error, o.threads)
	for i := range o.threads {
		in, out := os.NewFile(uintptr(3+2*i), "turn"), os.NewFile(uintptr(4+2*i), "next")
		unix.CloseOnExec(3 + 2*i)
		unix.CloseOnExec(4 + 2*i)
		all.Go(func() {
			errs[i] = newHand(o, o.worker+i, &logs[i]).run(in, out)
			out.Close()
		})
	}
	all.Wait()
	w := bufio.NewWriter(os.Stdout)
	for i := range logs {
		_, _ = w.WriteString(logs[i].String())
	}
	return errors.Join(append(errs, w.Flush())...)
}
