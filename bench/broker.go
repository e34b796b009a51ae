package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
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
	wayOn    = "on"
	wayFuse  = "FUSE loopback"
)

// job is one everyday command. prepare is run before each measurement and does
// not count; both are run by bash in the project of the broker's suites.
type job struct {
	name          string
	needs         []string
	once          string // outside, when the fixture is made
	prepare, work string
	rounds        int
	writes        bool // write-heavy: held to twice, and all of them to 1.4
}

var jobs = []job{
	{name: "untar", needs: []string{"tar"}, once: "mkdir src && cd src && for d in $(seq 40); do mkdir d$d; for f in $(seq 50); do head -c 1500 /dev/zero > d$d/f$f; done; done; cd .. && tar cf src.tar src",
		prepare: "rm -rf w; mkdir w", work: "tar xf src.tar -C w", rounds: 9, writes: true},
	{name: "git clone", needs: []string{"git"}, once: "git init -q src && cd src && git add . && git -c user.name=b -c user.email=b@localhost commit -qm b && cd .. && git clone -q --bare src bare.git",
		prepare: "rm -rf w; mkdir w", work: "git clone -q --no-local bare.git w/c", rounds: 9, writes: true},
	{name: "git status", needs: []string{"git"}, prepare: "true", work: "cd src && git --no-optional-locks status --porcelain", rounds: 15},
	{name: "rg", needs: []string{"rg"}, prepare: "true", work: "rg -c nothing-like-this src || true", rounds: 15},
	{name: "go vet", needs: []string{"go"}, once: "mkdir vet && cd vet && printf 'module vet\\n\\ngo 1.21\\n' > go.mod && for i in $(seq 20); do mkdir p$i; printf 'package p\\n\\nfunc F(n int) int { return n + %s }\\n' $i > p$i/p.go; done",
		prepare: "export GOCACHE=$PWD/vetcache GOFLAGS=-mod=mod GOTELEMETRY=off; cd vet; [ -d $GOCACHE ] || go vet ./... ; cd ..", work: "cd vet && go vet ./...", rounds: 7},
	{name: "sed -i over 500 files", needs: []string{"sed"}, prepare: "rm -rf w; mkdir w; for i in $(seq 500); do echo \"line $i\" > w/$i; done", work: "sed -i s/line/LINE/ w/*", rounds: 15, writes: true},
	{name: "npm install", needs: []string{"npm"}, once: npmPackages,
		prepare: "export HOME=$PWD/npmhome npm_config_cache=$PWD/npmhome/c npm_config_audit=false npm_config_fund=false npm_config_offline=true npm_config_update_notifier=false; rm -rf w npmhome; mkdir w npmhome; cp app.json w/package.json",
		work:    "cd w && npm install --silent", rounds: 5, writes: true},
	{name: "rm -rf of 10,000 files of 2 KiB", needs: []string{"rm"}, prepare: "rm -rf w; mkdir w; for d in $(seq 100); do mkdir w/$d; head -c 202752 /dev/urandom | split -b 2048 - w/$d/; done", work: "rm -rf w", rounds: 7, writes: true},
	{name: "rm -rf of 10,000 empty files", needs: []string{"rm"}, prepare: "rm -rf w; mkdir w; for d in $(seq 100); do mkdir w/$d; (cd w/$d; touch $(seq 99)); done", work: "rm -rf w", rounds: 7, writes: true},
	{name: "SQLite inserts", needs: []string{"python3"}, prepare: "rm -rf w; mkdir w",
		work:   "python3 -c \"import sqlite3; c=sqlite3.connect('w/x.db'); c.execute('create table t(a,b)')\nfor i in range(300):\n  with c: c.executemany('insert into t values(?,?)', [(i,k) for k in range(50)])\"",
		rounds: 5, writes: true},
	{name: "go build of a medium module", needs: []string{"go"}, once: "mkdir mod && cd mod && printf 'module m\\n\\ngo 1.21\\n' > go.mod && printf 'package main\\n\\nimport (\\n\\t\"encoding/json\"\\n\\t\"fmt\"\\n\\t\"text/template\"\\n)\\n\\nfunc main() { fmt.Println(json.Valid(nil), template.New(\"x\")) }\\n' > main.go",
		prepare: "export CGO_ENABLED=0 GOFLAGS=-mod=mod GOTELEMETRY=off GOCACHE=$PWD/w/cache; rm -rf w; mkdir w", work: "cd mod && go build -o ../w/m .", rounds: 3, writes: true},
}

// npmPackages makes four packages of 300 files and a project that wants them.
const npmPackages = `export HOME=$PWD/npmhome npm_config_update_notifier=false; mkdir npmhome
for p in a b c d; do mkdir pkg-$p && (cd pkg-$p && echo "{\"name\":\"pkg-$p\",\"version\":\"1.0.0\"}" > package.json && for i in $(seq 300); do echo "module.exports=$i" > m$i.js; done && npm pack --silent --pack-destination ..); done
echo "{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"pkg-a\":\"file:../pkg-a-1.0.0.tgz\",\"pkg-b\":\"file:../pkg-b-1.0.0.tgz\",\"pkg-c\":\"file:../pkg-c-1.0.0.tgz\",\"pkg-d\":\"file:../pkg-d-1.0.0.tgz\"}}" > app.json
rm -rf npmhome`

// broker measures jobs with and without the broker, in the same walls.
func (b *bench) broker(jobs []job) table {
	t := table{title: "The broker: everyday work", unit: "ms", about: "`carrel run --history on` against `--history off`, against that with a bare listener (every call that changes a file waits for a program that lets it go on at once, the least that a decision outside the kernel costs), and against an unprivileged FUSE loopback (go-fuse's example, one second of attribute cache, no walls). What is measured runs inside and measures itself, so that no start-up counts."}
	ways, err := b.ways()
	if err != nil {
		t.about += " Not measured: " + err.Error()
		return t
	}
	var heavy, least []float64
	for _, j := range jobs {
		list := b.contenders(j, ways)
		b.interleave("broker: "+j.name, min(j.rounds, b.rounds), list, func(c *contender) (float64, error) { return selfTimed(c.dir, b.envOf(c), c.argv) })
		t.rows = append(t.rows, rows(list)...)
		off, on, fuse := t.median(j.name+", "+wayOff), t.median(j.name+", "+wayOn), t.median(j.name+", "+wayFuse)
		reach := 1.05
		if j.writes {
			reach = 2
			heavy = append(heavy, ratio(on, off))
		}
		t.compare(j.name+", "+wayOn, j.name+", "+wayOff, reach, j.name)
		if floor := ratio(t.median(j.name+", "+wayFloor), off); j.writes && !math.IsNaN(floor) {
			least = append(least, floor)
			t.verdicts = append(t.verdicts, fmt.Sprintf("%s, with a listener that only lets go on: %.2fx", j.name, floor))
		}
		if below := ratio(on, fuse); j.writes && !math.IsNaN(below) {
			t.verdicts = append(t.verdicts, fmt.Sprintf("%s, against the FUSE loopback: **%.2fx**, to reach below 1x: %s (the loopback itself: %.2fx)", j.name, below, met(below < 1), ratio(fuse, off)))
		}
	}
	if mean := geometricMean(heavy); math.IsNaN(mean) {
		t.verdicts = append(t.verdicts, "geometric mean of the write-heavy jobs: not measured, one of them is missing")
	} else {
		t.verdicts = append(t.verdicts, fmt.Sprintf("geometric mean of the write-heavy jobs (%d): **%.2fx**, to reach 1.4x: %s", len(heavy), mean, met(mean <= 1.4)))
		t.verdicts = append(t.verdicts, fmt.Sprintf("the same with a listener that only lets go on: %.2fx", geometricMean(least)))
	}
	return t
}

// calls measures single system calls: a loop of this program, run inside.
func (b *bench) calls() table {
	t := table{title: "The broker: single calls", unit: "µs", about: "One call of each kind, as a loop of a program inside sees it, at last with opens for reading stopped too, as a deny glob has it: the median over runs of the mean of " + strconv.Itoa(callCount) + " calls."}
	ways, err := b.ways()
	if err != nil {
		t.about += " Not measured: " + err.Error()
		return t
	}
	ways = append(ways, way{wayOn + ", a deny glob", func(c []string) []string {
		return slices.Concat([]string{b.carrel, "run", "--history", "on", "--deny", "**/*.pem", "--"}, c)
	}})
	got := make(map[string]*contender)
	for _, kind := range callKinds {
		for _, w := range ways {
			name := kind + ", " + w.name
			got[name] = &contender{name: name, dir: b.project(), argv: []string{}}
		}
	}
	var list []*contender
	for _, w := range ways {
		list = append(list, &contender{name: w.name, dir: b.project(), argv: w.argv([]string{"./driver", "-calls", "w"})})
	}
	b.interleave("broker: single calls", min(7, b.rounds), list, func(c *contender) (float64, error) {
		out, err := output(c.dir, b.envOf(c), c.argv)
		for line := range strings.Lines(out) {
			kind, micros, _ := strings.Cut(strings.TrimSpace(line), "=")
			if v, err := strconv.ParseFloat(micros, 64); err == nil && got[kind+", "+c.name] != nil {
				got[kind+", "+c.name].got = append(got[kind+", "+c.name].got, v)
			}
		}
		return 0, err
	})
	for _, kind := range callKinds {
		for _, c := range list {
			one := got[kind+", "+c.name]
			one.got = one.got[min(warmUp, len(one.got)):]
			one.problem = c.problem
			t.rows = append(t.rows, rows([]*contender{one})...)
		}
		off := t.median(kind + ", " + wayOff)
		t.verdicts = append(t.verdicts, fmt.Sprintf("%s: %+.1f µs; with a bare listener %+.1f µs", kind, t.median(kind+", "+wayOn)-off, t.median(kind+", "+wayFloor)-off))
	}
	return t
}

// way is one way to run a command in the project; argv gives nil where the
// program for it is not there.
type way struct {
	name string
	argv func(command []string) []string
}

func (b *bench) project() string { return b.fixture.root + "/broker" }

// ways makes the project with all that the jobs need, once.
func (b *bench) ways() ([]way, error) {
	carrel, point := b.carrel, b.fixture.root+"/mounted"
	list := []way{
		{wayOff, func(c []string) []string { return slices.Concat([]string{carrel, "run", "--history", "off", "--"}, c) }},
		{wayFloor, func(c []string) []string {
			return slices.Concat([]string{carrel, "run", "--history", "off", "--", "./driver", "-listen"}, c)
		}},
		{wayOn, func(c []string) []string { return slices.Concat([]string{carrel, "run", "--history", "on", "--"}, c) }},
		{wayFuse, func(c []string) []string {
			if _, err := os.Stat(b.fuseloop); err != nil {
				return nil
			}
			return slices.Concat([]string{b.fuseloop, b.project(), point}, c)
		}},
	}
	if _, err := os.Stat(b.project()); err == nil {
		return list, nil
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("this program cannot be copied into the project: %w", err)
	}
	if err := errors.Join(mkdirs(b.project(), point), os.WriteFile(filepath.Join(b.project(), "driver"), self, 0o755)); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if missing(j) == "" && j.once != "" {
			if err := once(b.project(), b.fixture.env, []string{find("bash"), "-ec", j.once}); err != nil {
				return nil, fmt.Errorf("making what %s needs: %w", j.name, err)
			}
		}
	}
	return list, nil
}

// missing names the first program that a job needs and that is not here.
func missing(j job) string {
	for _, n := range j.needs {
		if find(n) == "" {
			return n
		}
	}
	return ""
}

func (b *bench) contenders(j job, ways []way) []*contender {
	// What is made in one run, a repository most of all, may be protected in the
	// next: each run takes away its own.
	script := j.prepare + "\nsync -f .\ns=${EPOCHREALTIME/./}\n(" + j.work + ") >/dev/null || exit 1\necho $((${EPOCHREALTIME/./}-s))\nrm -rf w"
	var list []*contender
	for _, w := range ways {
		c := &contender{name: j.name + ", " + w.name, dir: b.project()}
		if missing(j) == "" {
			c.argv = w.argv([]string{"bash", "-c", script})
		}
		list = append(list, c)
	}
	return list
}

// selfTimed runs a command that prints how many microseconds its work took.
func selfTimed(dir string, env, argv []string) (float64, error) {
	out, err := output(dir, env, argv)
	if err != nil {
		return 0, err
	}
	micros, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		return 0, fmt.Errorf("it printed %q instead of a time", firstLine(out))
	}
	return micros / 1000, nil
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
