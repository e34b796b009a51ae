package main

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// kind says what a job is held to.
type kind int

const (
	unheld  kind = iota // no ratio to reach
	writes              // inside the walls 2x at most, and 1.4x in the mean
	reads               // 1.05x
	forFuse             // only in the comparison with a FUSE view
)

// job is one everyday command. prepare is run before each measurement, outside
// walls, in the empty project; work is what is measured there. Both are for bash;
// $IN is the directory that `once` was run in.
type job struct {
	name          string
	needs         []string
	once          string
	prepare, work string
	rounds        int
	kind          kind
	later         bool // in a run that has started what it starts beside the command
}

// laterOn names a job that is also measured in a run that is up.
const laterOn = ", in a run that is up"

// andLater gives jobs, and after them those that only read, once more in a run that is up.
func andLater(jobs []job) []job {
	list := slices.Clone(jobs)
	for _, j := range jobs {
		if j.kind == reads {
			j.name, j.later = j.name+laterOn, true
			list = append(list, j)
		}
	}
	return list
}

// Parts of jobs.
const (
	untarred = `tar xf "$IN"/tree.tar`
	aRepo    = `cp -a "$IN"/repo .`
	vetEnv   = `export GOCACHE=$PWD/vetcache GOFLAGS=-mod=mod GOTELEMETRY=off; `
	buildEnv = `export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOTELEMETRY=off CGO_ENABLED=0; `
	npmEnv   = `export npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false; `
)

var jobs = []job{
	{name: "untar of 3,000 files", needs: []string{"tar"}, kind: writes, rounds: 11,
		prepare: `cp "$IN"/tree.tar .`, work: "tar xf tree.tar"},
	{name: "npm install", needs: []string{"npm"}, kind: writes, rounds: 5, once: npmPackages,
		prepare: `cp "$IN"/pkg-*.tgz .; mkdir w; cp "$IN"/app.json w/package.json`, work: npmEnv + "cd w && npm install --silent"},
	{name: "git clone, local", needs: []string{"git"}, kind: writes, rounds: 9, once: makeRepo,
		prepare: aRepo, work: "git clone -q repo copy"},
	{name: "git clone --no-local", needs: []string{"git"}, rounds: 9,
		prepare: aRepo, work: "git clone -q --no-local repo copy"},
	{name: "sed -i over 500 files", needs: []string{"sed"}, kind: writes, rounds: 11,
		prepare: untarred + " tree/g0", work: "sed -i s/line/LINE/ tree/g0/*/*"},
	{name: "rm -rf of 3,000 files", needs: []string{"rm"}, kind: writes, rounds: 11,
		prepare: untarred, work: "rm -rf tree"},
	{name: "chmod -R of 3,000 files", needs: []string{"chmod"}, kind: writes, rounds: 11,
		prepare: untarred, work: "chmod -R go-rwx tree"},
	{name: "git add of 400 files", needs: []string{"git"}, kind: writes, rounds: 11,
		prepare: untarred + " tree/g0/d{0..7}; git init -q", work: "git add tree"},
	{name: "git status", needs: []string{"git"}, kind: reads, rounds: 45,
		prepare: aRepo + "; git -C repo update-index -q --refresh", work: "cd repo && git --no-optional-locks status --porcelain"},
	{name: "rg", needs: []string{"rg"}, kind: reads, rounds: 31,
		prepare: untarred, work: "rg -c nothing-like-this tree || true"},
	{name: "go vet", needs: []string{"go"}, kind: reads, rounds: 25, once: makeVet,
		// The project has the same path each time, so what is in the cache counts there again.
		prepare: vetEnv + `cp -a "$IN"/vet* .; (cd vet; go vet ./...); [ -d "$IN"/vetcache ] || cp -a vetcache "$IN"/`,
		work:    vetEnv + "cd vet && go vet ./..."},
	{name: "SQLite inserts", needs: []string{"python3"}, kind: forFuse, rounds: 5, work: "python3 -c \"" + inserts + "\""},
	{name: "go build of a medium module", needs: []string{"go"}, kind: forFuse, rounds: 3, once: makeModule,
		prepare: `cp -a "$IN"/mod .`, work: buildEnv + "cd mod && go build -o m ."},
}

const makeRepo = `mkdir repo; cd repo; tar xf ../tree.tar tree/g0 tree/g1 tree/g2; git init -q; git add .
git -c user.name=bench -c user.email=bench@localhost -c commit.gpgsign=false commit -qm files`

const makeVet = `mkdir vet; cd vet; printf 'module vet\n\ngo 1.21\n' > go.mod
for i in {1..20}; do mkdir p$i; printf 'package p\n\nfunc F(n int) int { return n + %s }\n' $i > p$i/p.go; done`

// makeModule makes a program of one file.
//
//go:embed makemodule.bash
var makeModule string

const inserts = `import sqlite3; c=sqlite3.connect('x.db'); c.execute('create table t(a,b)')
for i in range(300):
  with c: c.executemany('insert into t values(?,?)', [(i,k) for k in range(50)])`

// npmPackages makes four packages of 300 files and a project that wants them.
//
//go:embed npmpackages.bash
var npmPackages string

func kindOf(name string) kind {
	i := slices.IndexFunc(jobs, func(j job) bool { return j.name == strings.TrimSuffix(name, laterOn) })
	if i < 0 {
		return unheld
	}
	return jobs[i].kind
}

// missing names the first program that a job needs and that is not here.
func (j job) missing() string {
	for _, n := range j.needs {
		if find(n) == "" {
			return n
		}
	}
	return ""
}

// contenders gives one for each way; the job measures itself, so that no start-up
// is in the time that it prints.
func (j job) contenders(ways []way) []*contender {
	script := ""
	if j.later {
		script = "sleep .5\n"
	}
	script += "s=${EPOCHREALTIME/./}\n(" + j.work + ") >/dev/null || exit 1\necho $((${EPOCHREALTIME/./}-s))"
	var list []*contender
	for _, w := range ways {
		c := &contender{name: j.name + ", " + w.name, prepare: j.prepare, argv: w.argv([]string{"bash", "-c", script})}
		if program := j.missing(); program != "" {
			c.problem = fmt.Errorf("%s is %w", program, errMissing)
		}
		list = append(list, c)
	}
	return list
}

// inputs is where the jobs find what they work on.
func (b *bench) inputs() string { return b.fixture.root + "/inputs" }

// makeInputs makes what the jobs need, and a copy of this program, once.
func (b *bench) makeInputs() error {
	dir := b.inputs()
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("this program cannot be copied into the project: %w", err)
	}
	var files bytes.Buffer
	if err := errors.Join(writeTree(&files), mkdirs(dir), os.WriteFile(dir+"/driver", self, 0o755)); err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/tree.tar", files.Bytes(), 0o600); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.missing() == "" && j.once != "" {
			if err := once(dir, b.fixture.env, []string{find("bash"), "-ec", j.once}); err != nil {
				return errors.Join(fmt.Errorf("making what %s needs: %w", j.name, err), os.RemoveAll(dir))
			}
		}
	}
	return nil
}

// The tree of the tarball: tree/gG/dD/fF.
const (
	treeGroups = 6
	treeDirs   = 10
	treeFiles  = 50
)

// writeTree writes a tarball of small files, the same bytes each time: 3,000
// files of 0.2 to 4 KiB, no two of them equal.
func writeTree(w io.Writer) error {
	const least, most = 200, 4096
	r := rand.New(rand.NewPCG(1, 2))
	when := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	to := tar.NewWriter(w)
	for g := range treeGroups {
		for d := range treeDirs {
			dir := fmt.Sprintf("tree/g%d/d%d", g, d)
			if err := to.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: when}); err != nil {
				return err
			}
			for f := range treeFiles {
				name := fmt.Sprintf("%s/f%d", dir, f)
				var text bytes.Buffer
				for size, n := least+r.IntN(most-least), 0; text.Len() < size; n++ {
					fmt.Fprintf(&text, "line %d of %s: %x\n", n, name, r.Uint64())
				}
				if err := to.WriteHeader(&tar.Header{Name: name, Size: int64(text.Len()), Mode: 0o644, ModTime: when}); err != nil {
					return err
				}
				if _, err := to.Write(text.Bytes()); err != nil {
					return err
				}
			}
		}
	}
	return to.Close()
}
