package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// table is one suite's result.
type table struct {
	title, about, unit string
	rows               []row
	pairs              []pair    // instead of rows
	ways               [2]string // of pairs
	verdicts           []string
}

// row is one contender's result; problem is set where there is no number.
type row struct {
	name    string
	sum     summary
	problem string
}

func rows(list []*contender) []row {
	var out []row
	for _, c := range list {
		r := row{name: c.name, sum: c.got.summarise()}
		if c.problem != nil {
			r.problem, r.sum = c.problem.Error(), summary{}
		}
		out = append(out, r)
	}
	return out
}

func (t *table) median(name string) float64 {
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.name == name })
	if i < 0 {
		return 0
	}
	return t.rows[i].sum.median
}

// compare adds a sentence on the ratio of two rows and what is to be reached.
func (t *table) compare(name, against string, reach float64, what string) {
	t.reach(what, ratio(t.median(name), t.median(against)), reach)
}

// reach adds a sentence on a ratio and the most that it is to be.
func (t *table) reach(what string, r, most float64) {
	if math.IsNaN(r) {
		t.verdicts = append(t.verdicts, what+": not measured")
		return
	}
	t.verdicts = append(t.verdicts, fmt.Sprintf("%s: **%.2fx**, to reach %.4gx: %s", what, r, most, met(r <= most)))
}

// atLeast is compare for what is better the more there is of it; with nothing to
// reach the sentence has the ratio only.
func (t *table) atLeast(name, against string, reach float64, what string) {
	r := ratio(t.median(name), t.median(against))
	switch {
	case math.IsNaN(r):
		t.verdicts = append(t.verdicts, what+": not measured")
	case reach == 0:
		t.verdicts = append(t.verdicts, fmt.Sprintf("%s: **%.2fx**", what, r))
	default:
		t.verdicts = append(t.verdicts, fmt.Sprintf("%s: **%.2fx**, to reach >= %.4gx: %s", what, r, reach, met(r >= reach)))
	}
}

// compareTo does the same for a fixed number.
func (t *table) compareTo(name string, reach float64, what string) {
	m := t.median(name)
	if m == 0 {
		t.verdicts = append(t.verdicts, what+": not measured")
		return
	}
	t.verdicts = append(t.verdicts, fmt.Sprintf("**%.1f** %s, to reach %.4g: %s", m, what, reach, met(m <= reach)))
}

// over adds a sentence on what one row takes more than another, in the unit of the
// table; with nothing to reach it has the difference only.
func (t *table) over(name, against string, reach float64, what string) {
	a, b := t.median(name), t.median(against)
	switch {
	case a == 0 || b == 0:
		t.verdicts = append(t.verdicts, what+": not measured")
	case reach == 0:
		t.verdicts = append(t.verdicts, fmt.Sprintf("%s: **%+.2f %s**", what, a-b, t.unit))
	default:
		t.verdicts = append(t.verdicts, fmt.Sprintf("%s: **%+.2f %s**, to reach %+.4g: %s", what, a-b, t.unit, reach, met(a-b <= reach)))
	}
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "not met"
}

// report is everything that one run of the program says.
type report struct {
	options options
	peers   []peer
	missing int // tables that are not there yet
	tables  []table
	start   time.Time
	load    [2]string // before and after
	took    time.Duration
}

func newReport(o options, peers []peer) *report {
	return &report{options: o, peers: peers, start: time.Now(), load: [2]string{loadAverage()}}
}

// save writes what is known so far into the results' file, if there is to be one.
func (r *report) save() error {
	r.took = time.Since(r.start)
	r.load[1] = loadAverage()
	if r.options.results == "" {
		return nil
	}
	if err := os.WriteFile(r.options.results, []byte(r.markdown()), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("# Measurements\n\nWritten by `make bench`. All contenders of a table ran in turns, in an order drawn anew each round;\ncompare within a table, never across machines or runs. A dash means: no number, see the note.\n\n")
	fmt.Fprintf(&b, "- Date: %s, %s of measuring, seed %d\n", r.start.UTC().Format("2006-01-02 15:04 UTC"), r.took.Round(time.Second), r.options.seed)
	fmt.Fprintf(&b, "- Machine: %s, %d CPUs, kernel %s, %s/%s, uid %d\n", cpu(), runtime.NumCPU(), kernel(), runtime.GOOS, runtime.GOARCH, os.Getuid())
	fmt.Fprintf(&b, "- Load average: %s before, %s after\n", r.load[0], r.load[1])
	if r.missing > 0 {
		fmt.Fprintf(&b, "- **Not finished**: %d tables are missing\n", r.missing)
	}
	fmt.Fprintf(&b, "- Built with %s\n\n## Contenders\n\n| name | version | started with |\n|---|---|---|\n", runtime.Version())
	for _, p := range r.peers {
		version := p.version
		if p.argv == nil {
			version = "not installed"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, dash(version), p.note)
	}
	for _, t := range r.tables {
		t.write(&b)
	}
	return b.String()
}

// write gives one table. Ratios are of medians, against doing without walls and
// against bwrap, where the table has those.
func (t *table) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", t.title, t.about)
	if t.pairs != nil {
		t.writePairs(b)
	} else {
		t.writeRows(b)
	}
	if len(t.verdicts) > 0 {
		b.WriteString("\n")
	}
	for _, v := range t.verdicts {
		fmt.Fprintf(b, "- %s\n", v)
	}
}

func (t *table) writeRows(b *strings.Builder) {
	native, bwrap := t.median(nameNative), t.median(nameBwrap)
	fmt.Fprintf(b, "| %s | median | p25 | min |", t.unit)
	if native+bwrap > 0 {
		b.WriteString(" / native | / bwrap |")
	}
	b.WriteString(" runs | note |\n|---|--:|--:|--:|")
	if native+bwrap > 0 {
		b.WriteString("--:|--:|")
	}
	b.WriteString("--:|---|\n")
	for _, r := range t.rows {
		median, p25, lowest := number(r.sum.median), number(r.sum.p25), number(r.sum.min)
		if r.sum.n > 0 && r.sum.median == 0 {
			median, p25, lowest = "0", "0", "0"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |", r.name, median, p25, lowest)
		if native+bwrap > 0 {
			fmt.Fprintf(b, " %s | %s |", times(ratio(r.sum.median, native)), times(ratio(r.sum.median, bwrap)))
		}
		fmt.Fprintf(b, " %d | %s |\n", r.sum.n, escape(r.problem))
	}
}

func number(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func times(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.2fx", v)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// escape keeps a message inside its cell.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) > 0 {
		return f[0]
	}
	return "unknown"
}
