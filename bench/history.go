package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// historySuite has the tables of the history and its broker: everyday work, calls, undo.
type historySuite struct {
	*bench
	agedNote string // what the aged states have, once they are made
}

// historySuites are the tables of what the history costs.
func (b *historySuite) historySuites() []func() table {
	var out []func() table
	for _, fs := range []fileSystem{tmpfs, ext4} {
		out = append(out, func() table { return b.history(fs) }, func() table { return b.aged(fs) })
	}
	return append(out, func() table { return b.reviewed(ext4) })
}

const aboutFresh = "Each run has a new file system, with the state directory on it: tmpfs, or ext4 in an image on a loop device. " +
	"What it works on is put there outside the walls and synced."

const aboutTimes = "Inside: the command's own time, taken by a shell in the walls. Start to end: the whole of the command line. " +
	"CPU: its user and system time with all that it waited for, supervisor, stage and command. " +
	"Ratios are of medians, and beside that of minima."

// onItsOwn gives the file system for a table. Without root ext4 gives way to a
// directory, and tmpfs is not measured.
func (b *historySuite) onItsOwn(t *table, fs fileSystem) (fileSystem, bool) {
	if fs.name == tmpfs.name {
		if err := b.usable(fs); err != nil {
			t.about += " Not measured: " + err.Error()
			return fs, false
		}
		return fs, true
	}
	fs, note := b.orPlain(fs)
	t.about += note
	return fs, true
}

// history measures everyday jobs with and without the history, in the same walls.
func (b *historySuite) history(fs fileSystem) table {
	t := table{title: "The history: everyday work on " + fs.name, unit: "ms", ways: [2]string{wayOff, wayOn},
		about: "`carrel run --history off` against `--history on`. The floor is `--history off` with a bare listener: every call that " +
			"changes a file waits for a program that lets it go on at once, the least that a decision outside the kernel costs. The broker's least is that " +
			"with a listener that makes the calls by the paths that it has read, as a decision by name must: when a call goes on the kernel reads the path anew, " +
			"and another thread may have changed it. What only reads is measured as the first thing of a run, beside which carrel still starts watchers, " +
			"and half a second later. " + aboutFresh + " " + aboutTimes}
	fs, ok := b.onItsOwn(&t, fs)
	if err := b.makeInputs(); err != nil || !ok {
		t.failed(err)
		return t
	}
	ways := []way{b.walls(wayOff, "off"), b.walls(wayOn, "on")}
	for _, j := range andLater(jobs) {
		if j.kind == forFuse {
			continue
		}
		list := j.contenders(ways)
		if j.kind == writes {
			for _, c := range j.contenders([]way{b.floor(), b.least()}) {
				c.prepare += "\ncp \"$IN\"/driver ."
				list = append(list, c)
			}
		}
		b.anew("history, "+fs.name+": "+j.name, fs, min(j.rounds, b.rounds), list, func(c *contender, one took, out string) (err error) {
			one.inside, err = micros(out)
			c.took = append(c.took, one)
			return err
		})
		p := pairOf(j.name, list[0], list[1])
		if j.kind == writes {
			p.floor, p.least = list[2].took, list[3].took
		}
		t.pairs = append(t.pairs, p)
	}
	t.historyVerdicts()
	return t
}

// historyVerdicts compares the jobs with what is to be reached inside the walls.
func (t *table) historyVerdicts() {
	var heavy, fastest [len(measures)][]float64
	var floors, broker []float64
	for _, p := range t.pairs {
		switch kindOf(p.name) {
		case reads:
			t.reach(p.name+", inside", p.ratio(inside), 1.05)
		case writes:
			t.reach(p.name+", inside", p.ratio(inside), 2)
			floor := pair{ways: [2][]took{p.ways[0], p.floor}}.ratio(inside)
			least := pair{ways: [2][]took{p.ways[0], p.least}}.ratio(inside)
			floors, broker = append(floors, floor), append(broker, least)
			t.verdicts = append(t.verdicts, fmt.Sprintf("%s, inside, floor: %s, a broker's least: %s", p.name, times(floor), times(least)))
			for m := range measures {
				heavy[m] = append(heavy[m], p.ratio(m))
				fastest[m] = append(fastest[m], p.fastest(m))
			}
		}
	}
	what := fmt.Sprintf("geometric mean of %d writing jobs, ", len(heavy[inside]))
	t.reach(what+measures[inside].name, geometricMean(heavy[inside]), 1.4)
	t.verdicts = append(t.verdicts, fmt.Sprintf("%sinside, floor: **%s**, a broker's least: **%s**", what, times(geometricMean(floors)), times(geometricMean(broker))))
	for _, m := range []int{wholeRun, cpuTime} {
		t.verdicts = append(t.verdicts, fmt.Sprintf("%s%s: **%s**", what, measures[m].name, times(geometricMean(heavy[m]))))
	}
	for m := range measures {
		t.verdicts = append(t.verdicts, fmt.Sprintf("the same of minima, %s: %s", measures[m].name, times(geometricMean(fastest[m]))))
	}
}

// What the aged state is made of, and what a young one.
const (
	agedSteps  = 1000
	youngSteps = 10
	agedBytes  = 100 << 20
)

// ageScript makes $1 steps and $2 bytes of journals, and packs them into $3. A
// run in ten makes as many changes as are missing for its share of the bytes; their
// paths are long, so that there are few of them.
//
//go:embed age.bash
var ageScript string

// agedWays are the ages of the state, and the files that they are packed into.
var agedWays = [2]struct {
	name, file   string
	steps, bytes int
}{
	{fmt.Sprint(youngSteps, " steps"), "young.tar", youngSteps, 0},
	{fmt.Sprint(agedSteps, " steps"), "aged.tar", agedSteps, agedBytes},
}

// aged measures the same with few and with many steps behind it.
func (b *historySuite) aged(fs fileSystem) table {
	t := table{title: "The history: an aged state on " + fs.name, unit: "ms", ways: [2]string{agedWays[0].name, agedWays[1].name},
		about: fmt.Sprintf("With %d steps behind it, and with %d, which is the limit, made by real runs. ", youngSteps, agedSteps) + aboutFresh +
			" Before the measurement `carrel history` has read the state once, and a changing run has brought it to the limit. " +
			"The next one discards the oldest eighth, so one in 125 does: it has a row of its own, and is over before the others. " + aboutTimes}
	fs, ok := b.onItsOwn(&t, fs)
	if !ok {
		return t
	}
	if err := b.makeAged(&t); err != nil {
		t.failed(err)
		return t
	}
	touch := []string{b.carrel, "run", "--history", "on", "--", "touch", "f"}
	for _, j := range []struct {
		name   string
		argv   []string
		before int // changing runs before the measurement
	}{
		{"carrel run -- touch f", touch, 2},
		{"carrel run -- touch f, which discards", touch, 1},
		{"carrel history -n 5", []string{b.carrel, "history", "-n", "5"}, 2},
		{"carrel undo", []string{b.carrel, "undo"}, 2},
	} {
		var list []*contender
		for _, w := range agedWays {
			prepare := `tar -C "$XDG_STATE_HOME"/.. -xf "$IN"/` + w.file + "\n\"$CARREL\" history -n 1" + strings.Repeat("\n'"+strings.Join(touch, "' '")+"'", j.before)
			list = append(list, &contender{name: w.name, prepare: prepare, argv: j.argv})
		}
		b.anew("history, "+fs.name+": "+j.name, fs, min(11, b.rounds), list, func(c *contender, one took, _ string) error {
			c.took = append(c.took, one)
			return nil
		})
		t.pairs = append(t.pairs, pairOf(j.name, list[0], list[1]))
	}
	t.reach(t.pairs[0].name+", start to end", t.pairs[0].ratio(wholeRun), 1.1)
	return t
}

// makeAged makes both states, where no table has yet, and says what they have.
func (b *historySuite) makeAged(t *table) error {
	if err := b.makeInputs(); err != nil {
		return err
	}
	if b.agedNote == "" {
		var notes []string
		for _, w := range agedWays {
			fmt.Fprintf(b.progress, "\r%-40s %s ", "history: an aged state", w.name)
			note, err := b.makeState(w.steps, w.bytes, b.inputs()+"/"+w.file)
			if err != nil {
				return fmt.Errorf("making %s: %w", w.name, err)
			}
			notes = append(notes, note)
		}
		fmt.Fprintln(b.progress)
		b.agedNote = strings.Join(notes, "; ")
	}
	t.verdicts = append(t.verdicts, "behind it: "+b.agedNote)
	return nil
}

func (b *historySuite) makeState(steps, bytes int, file string) (string, error) {
	fs, _ := b.orPlain(tmpfs)
	p, err := b.fresh(fs)
	if err != nil {
		return "", err
	}
	defer p.done()
	argv := []string{find("bash"), "-ec", ageScript, "bash", fmt.Sprint(steps), fmt.Sprint(bytes), file}
	if _, err := outputWithin(20*time.Minute, p.dir, p.env, argv); err != nil {
		return "", err
	}
	out, err := output(p.dir, p.env, []string{b.carrel, "history", "du", "--json"})
	if err != nil {
		return "", err
	}
	return stateOf([]byte(out), steps-1)
}

// stateOf reads `history du --json`, and refuses a state that lacks steps.
func stateOf(text []byte, want int) (string, error) {
	var du struct {
		Steps    []json.RawMessage
		Journals int64 `json:"journals_disk_bytes"`
	}
	if err := json.Unmarshal(text, &du); err != nil {
		return "", fmt.Errorf("reading `history du --json`: %w", err)
	}
	if len(du.Steps) < want {
		return "", fmt.Errorf("%d steps were made, want %d", len(du.Steps), want)
	}
	return fmt.Sprintf("%d steps and the last run, %.1f MB of journals", len(du.Steps), float64(du.Journals)/1e6), nil
}
