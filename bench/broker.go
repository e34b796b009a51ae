package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The ways of the broker's suites: the same walls with plain writable mounts,
// with a listener that stops the calls that change files and lets each go on at
// once, with the broker, and a FUSE file system without walls.
const (
	wayOff   = "off"
	wayFloor = "off, a bare listener"
	wayLeast = "off, a listener that makes the calls"
	wayOn    = "on"
	wayFuse  = "FUSE loopback"
)

// broker compares jobs with a bare listener and with a FUSE view of the project.
func (b *historySuite) broker(jobs []job) table {
	t := table{title: "The broker: everyday work", unit: "ms", about: "`carrel run --history on` and `--history off`, " +
		"that with a bare listener (every call that changes a file waits for a program that lets it go on at once, " +
		"the least that a decision outside the kernel costs), and an unprivileged FUSE loopback " +
		"(go-fuse's example, one second of attribute cache, no walls). " + aboutFresh +
		" What is measured runs inside and measures itself, so that no start-up counts."}
	fs, note := b.orPlain(ext4)
	t.about += note
	if err := b.makeInputs(); err != nil {
		t.failed(err)
		return t
	}
	var least []float64
	for _, j := range jobs {
		list := j.contenders(b.ways())
		for _, c := range list {
			c.prepare += "\ncp \"$IN\"/driver ."
		}
		b.anew("broker: "+j.name, fs, min(j.rounds, b.rounds), list, func(c *contender, _ took, out string) error {
			v, err := micros(out)
			c.got = append(c.got, v)
			return err
		})
		t.rows = append(t.rows, rows(list)...)
		off, on, fuse := t.median(j.name+", "+wayOff), t.median(j.name+", "+wayOn), t.median(j.name+", "+wayFuse)
		if j.kind == reads {
			continue
		}
		if floor := ratio(t.median(j.name+", "+wayFloor), off); !math.IsNaN(floor) {
			least = append(least, floor)
			both := fmt.Sprintf("%s: %.2fx; with a listener that only lets go on: %.2fx", j.name, ratio(on, off), floor)
			t.verdicts = append(t.verdicts, both)
		}
		if below := ratio(on, fuse); !math.IsNaN(below) {
			t.verdicts = append(t.verdicts, fmt.Sprintf("%s, against the FUSE loopback: **%.2fx**, to reach below 1x: %s"+
				" (the loopback itself: %.2fx)", j.name, below, met(below < 1), ratio(fuse, off)))
		}
	}
	mean := fmt.Sprintf("geometric mean with a listener that only lets go on (%d jobs): %s", len(least), times(geometricMean(least)))
	t.verdicts = append(t.verdicts, mean)
	return t
}

// calls measures single system calls: a loop of this program, run inside.
func (b *historySuite) calls(fs fileSystem) table {
	t := table{title: "The broker: single calls on " + fs.name, unit: "µs", about: "One call of each kind, " +
		"as a loop of a program inside sees it, at last with opens for reading stopped too, as a deny glob has it: the median over runs of the mean of " +
		strconv.Itoa(callCount) + " calls. " + aboutFresh}
	fs, ok := b.onItsOwn(&t, fs)
	if err := b.makeInputs(); err != nil || !ok {
		t.failed(err)
		return t
	}
	ways := append(b.ways(), b.walls(wayOn+", a deny glob", "on", "--deny", "**/*.pem"))
	got := make(map[string]samples)
	var list []*contender
	for _, w := range ways {
		list = append(list, &contender{name: w.name, prepare: `cp "$IN"/driver .`, argv: w.argv([]string{"./driver", "-calls", "w"})})
	}
	b.anew("broker: single calls on "+fs.name, fs, min(7, b.rounds), list, func(c *contender, _ took, out string) error {
		for line := range strings.Lines(out) {
			kind, micros, _ := strings.Cut(strings.TrimSpace(line), "=")
			v, err := strconv.ParseFloat(micros, 64)
			if err != nil {
				return fmt.Errorf("it printed %q instead of a time", firstLine(out))
			}
			got[kind+", "+c.name] = append(got[kind+", "+c.name], v)
		}
		return nil
	})
	for _, kind := range callKinds {
		for _, c := range list {
			t.rows = append(t.rows, rows([]*contender{{name: kind + ", " + c.name, got: got[kind+", "+c.name], problem: c.problem}})...)
		}
		off, floor, on := t.median(kind+", "+wayOff), t.median(kind+", "+wayFloor), t.median(kind+", "+wayOn)
		t.verdicts = append(t.verdicts, fmt.Sprintf("%s: %+.1f µs; with a bare listener %+.1f µs", kind, on-off, floor-off))
	}
	return t
}

// way is one way to run a command in a place; argv gives nil where the program
// for it is not there.
type way struct {
	name string
	argv func(command []string) []string
}

// walls is a way to run a command in walls, with the history on or off.
func (b *bench) walls(name, history string, more ...string) way {
	return way{name, func(c []string) []string {
		return slices.Concat([]string{b.carrel, "run", "--history", history}, more, []string{"--"}, c)
	}}
}

// floor is a way with a listener, which is in the project as ./driver.
func (b *bench) floor() way {
	off := b.walls(wayOff, "off")
	return way{wayFloor, func(c []string) []string { return off.argv(slices.Concat([]string{"./driver", "-listen"}, c)) }}
}

// least is that way with a listener that makes the calls.
func (b *bench) least() way {
	off := b.walls(wayOff, "off")
	return way{wayLeast, func(c []string) []string { return off.argv(slices.Concat([]string{"./driver", "-carry"}, c)) }}
}

func (b *bench) ways() []way {
	point := b.placeRoot() + "/mounted"
	ways := []way{b.walls(wayOff, "off"), b.floor(), b.walls(wayOn, "on")}
	if _, err := os.Stat(b.fuseloop); err != nil {
		return ways
	}
	// A home of its own: there are no walls that keep caches out of the user's.
	return append(ways, way{wayFuse, func(c []string) []string {
		return slices.Concat([]string{b.fuseloop, b.placeDir(), point, "env", "HOME=" + b.placeRoot() + "/home"}, c)
	}})
}

// micros reads the microseconds that a command printed of its own work, and gives
// milliseconds.
func micros(out string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		return 0, fmt.Errorf("it printed %q instead of a time", firstLine(out))
	}
	return v / 1000, nil
}

// geometricMean is not a number for none, or where one is missing.
func geometricMean(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range list {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(list)))
}
