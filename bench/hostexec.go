package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The rows of the suite of host commands. Those "in their walls" are what the same
// command takes where host commands run, started by a program there.
const (
	rowHostTrue  = "true, called from inside"
	rowWallsTrue = "true, in their walls"
	rowHostMake  = "make -n, called from inside"
	rowWallsMake = "make -n, in their walls"
	rowHostMany  = "200 true at once, called from inside"
	rowWallsMany = "200 true at once, in their walls"
	rowHostData  = "1 GB of output, called from inside"
	rowWallsData = "1 GB of output, in their walls"
)

const (
	hostCalls = 20 // one after the other, for one time
	hostMany  = 200
	hostBytes = 1 << 30
)

// shimOf is how programs inside call a host command.
func shimOf(name string) string { return "/run/carrel/shims/" + name }

// hostJob is one row: what is done, and with which command.
type hostJob struct {
	row  string
	kind string
	argv []string
	away bool // by a program in the walls of host commands
}

func hostJobs() []hostJob {
	data := []string{"-c", strconv.Itoa(hostBytes), "/dev/zero"}
	return []hostJob{
		{rowHostTrue, "calls", []string{shimOf("true")}, false}, {rowWallsTrue, "calls", []string{"/usr/bin/true"}, true},
		{rowHostMake, "calls", []string{shimOf("make"), "-n"}, false}, {rowWallsMake, "calls", []string{"/usr/bin/make", "-n"}, true},
		{rowHostMany, "many", []string{shimOf("true")}, false}, {rowWallsMany, "many", []string{"/usr/bin/true"}, true},
		{rowHostData, "data", append([]string{shimOf("head")}, data...), false}, {rowWallsData, "data", append([]string{"/usr/bin/head"}, data...), true},
	}
}

// driveHost is what runs inside: as "all" it measures every row so many times, in an
// order drawn anew each time, and prints them; otherwise one job, and its milliseconds.
func driveHost(w io.Writer, kind string, argv []string) error {
	if kind != "all" {
		took, err := hostTime(kind, argv)
		if err == nil {
			_, err = fmt.Fprintln(w, took)
		}
		return err
	}
	rounds, err := strconv.Atoi(argv[0])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	jobs := hostJobs()
	for range rounds + warmUp {
		rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		for _, j := range jobs {
			var took float64
			if j.away {
				out, runErr := exec.Command(shimOf("env"), append([]string{self, "-host", j.kind, "--"}, j.argv...)...).Output()
				if took, err = strconv.ParseFloat(string(bytes.TrimSpace(out)), 64); runErr != nil {
					err = runErr
				}
			} else {
				took, err = hostTime(j.kind, j.argv)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", j.row, err)
			}
			if err := json.NewEncoder(w).Encode(hostTook{j.row, took}); err != nil {
				return err
			}
		}
	}
	return nil
}

type hostTook struct {
	Row  string
	Took float64
}

// hostTime measures one job, in milliseconds.
func hostTime(kind string, argv []string) (float64, error) {
	begin := time.Now()
	switch kind {
	case "calls":
		for range hostCalls {
			if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
				return 0, err
			}
		}
		return millis(time.Since(begin)) / hostCalls, nil
	case "many":
		var all sync.WaitGroup
		failed := make(chan error, hostMany)
		for range hostMany {
			all.Go(func() { failed <- exec.Command(argv[0], argv[1:]...).Run() })
		}
		all.Wait()
		close(failed)
		var err error
		for e := range failed {
			err = errors.Join(err, e)
		}
		return millis(time.Since(begin)), err
	case "data":
		cmd := exec.Command(argv[0], argv[1:]...)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return 0, err
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{out}, make([]byte, 256<<10))
		if err = errors.Join(err, cmd.Wait()); err == nil && n != hostBytes {
			err = fmt.Errorf("%d bytes", n)
		}
		return millis(time.Since(begin)), err
	}
	return 0, fmt.Errorf("unknown job %q", kind)
}

// hostCommands measures commands of the host that are called from inside.
func (b *deskSuite) hostCommands() table {
	t := table{title: "Host commands", unit: "ms", about: "One workspace in which a program calls host commands, with pipes as their streams, against a program that starts the same commands in the walls that they run in: what is between is the shim, the supervisor and the descriptors' way. `true` and `make -n` (of a Makefile with one rule) are the time of one call of twenty, one after the other."}
	return b.desks(t, func(t *table, p *deskPlace) error {
		dir := filepath.Join(b.fixture.root, "hostexec")
		self, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = mkdirs(dir, b.fixture.root+"/desks/config/carrel")
		}
		for name, text := range map[string]string{dir + "/driver": string(self), dir + "/Makefile": "all:\n\techo made\n", b.fixture.root + "/desks/config/carrel/config.yaml": "host_commands: ['true', make, head, env]\n"} {
			if err == nil {
				err = os.WriteFile(name, []byte(text), 0o755)
			}
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(b.progress, "\r%-40s ", "host commands")
		out, err := output(dir, p.env, []string{b.carrel, "run", "--", "./driver", "-host", "all", "--", strconv.Itoa(max(3, b.rounds/4))})
		if err != nil {
			return err
		}
		seen := make(map[string]int)
		got := make(map[string]samples)
		for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
			var one hostTook
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				return err
			}
			if seen[one.Row]++; seen[one.Row] > warmUp {
				got[one.Row] = append(got[one.Row], one.Took)
			}
		}
		for _, j := range hostJobs() {
			t.rows = append(t.rows, row{name: j.row, sum: got[j.row].summarise()})
		}
		t.over(rowHostTrue, rowWallsTrue, 5, "a no-op, over the same in their walls")
		t.over(rowHostMake, rowWallsMake, 5, "make -n, over the same in their walls")
		t.over(rowHostMany, rowWallsMany, 0, "200 at once, all of them over the same in their walls")
		t.over(rowHostData, rowWallsData, 0, "1 GB of output, over the same in their walls")
		return nil
	})
}
