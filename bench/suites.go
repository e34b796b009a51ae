package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bench runs the suites.
type bench struct {
	fixture  *fixture
	carrel   string // the program to measure
	fuseloop string // a program that gives a FUSE view; may be missing
	peers    []peer
	order    *rand.Rand
	rounds   int
	progress io.Writer
	ending
}

// contender is one row of a suite while it is measured.
type contender struct {
	name    string
	dir     string
	argv    []string // nil: not installed
	env     []string // nil: the fixture's
	prepare string   // before each run, outside walls; see anew
	got     samples
	took    []took // instead of got, for a pair
	problem error
}

const warmUp = 2

// everyPeer makes one contender of each peer, all for the same command.
func (b *bench) everyPeer(dir string, command ...string) []*contender {
	var out []*contender
	for _, p := range b.peers {
		c := &contender{name: p.name, dir: dir}
		if p.argv != nil {
			c.argv = p.argv(dir, command)
		}
		out = append(out, c)
	}
	return out
}

func (b *bench) peer(name string) peer {
	i := slices.IndexFunc(b.peers, func(p peer) bool { return p.name == name })
	return b.peers[i]
}

// one is a contender of a named peer in a suite of its own making.
func (b *bench) one(label, name, dir string, command ...string) *contender {
	c := &contender{name: label, dir: dir}
	if p := b.peer(name); p.argv != nil {
		c.argv = p.argv(dir, command)
	}
	return c
}

// interleave measures all contenders in turns, those that work.
func (b *bench) interleave(title string, rounds int, list []*contender, measure func(*contender) (float64, error)) {
	for _, c := range list {
		if c.argv == nil {
			c.problem = errMissing
		} else if err := once(c.dir, b.envOf(c), c.argv); err != nil {
			c.problem = err
		}
	}
	b.turns(title, rounds, list, func(c *contender, counts bool) error {
		v, err := measure(c)
		if err == nil && counts {
			c.got = append(c.got, v)
		}
		return err
	})
}

// turns has each contender do something once in each round, in an order drawn
// anew, so that a machine that changes its speed does so for all. The first rounds
// do not count.
func (b *bench) turns(title string, rounds int, list []*contender, do func(c *contender, counts bool) error) {
	order := slices.Clone(list)
	for round := range rounds + warmUp {
		fmt.Fprintf(b.progress, "\r%-40s %d/%d ", title, round+1, rounds+warmUp)
		b.order.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, c := range order {
			if c.problem == nil {
				c.problem = do(c, round >= warmUp)
			}
		}
	}
	fmt.Fprintln(b.progress)
}

func (b *bench) envOf(c *contender) []string {
	if c.env != nil {
		return c.env
	}
	return b.fixture.env
}

func (b *bench) clock(c *contender) (float64, error) { return timed(c.dir, b.envOf(c), c.argv) }

// wallSuite has the tables of what walls cost one command: its start, memory, large projects
// and masks.
type wallSuite struct{ *bench }

func (b *wallSuite) startTrue() table {
	list := b.everyPeer(b.fixture.repo, "true")
	b.interleave("start-up: true", b.rounds, list, b.clock)
	t := table{title: "Start-up: `true`", unit: "ms", about: "From fork to the end of `true`, in a git repository of 200 files.", rows: rows(list)}
	t.compare(nameCarrel, nameSame, 2, "start to end of `true`, against bwrap with the same view")
	return t
}

func (b *wallSuite) startGit() table {
	list := b.everyPeer(b.fixture.repo, "git", "status", "--short")
	b.interleave("start-up: git status", b.rounds, list, b.clock)
	return table{title: "Start-up: `git status`", unit: "ms", about: "The same with `git status --short` in that repository.", rows: rows(list)}
}

func (b *wallSuite) memory() table {
	list := b.everyPeer(b.fixture.repo, "sleep", "3")
	for _, c := range list { // the check that it works need not sleep as long
		if c.argv != nil {
			c.argv = append(c.argv[:len(c.argv)-1:len(c.argv)-1], "0.1")
		}
	}
	b.interleave("memory", 3, list, func(c *contender) (float64, error) {
		argv := append(c.argv[:len(c.argv)-1:len(c.argv)-1], "3")
		return pssWhileRunning(c.dir, b.envOf(c), argv)
	})
	t := table{title: "Memory", unit: "MiB", about: "Proportional set size of the whole process tree, the `sleep` itself included, one second after the start.", rows: rows(list)}
	t.compareTo(nameCarrel, 12, "MiB for an idle workspace")
	return t
}

// denyGlobs are the five globs of the large project's suite.
var denyGlobs = []string{"**/*.pem", "**/*.key", "**/id_rsa*", "**/.env.*", "**/secrets.json"}

func (b *wallSuite) largeProject() table {
	f := b.fixture
	with := func(label, dir string) *contender {
		c := b.one(label, nameCarrel, dir, "true")
		var globs []string
		for _, g := range denyGlobs {
			globs = append(globs, "--deny", g)
		}
		at := slices.Index(c.argv, "--")
		c.argv = slices.Insert(c.argv, at, globs...)
		return c
	}
	small, large := "carrel, 200 files", fmt.Sprintf("carrel, %d files", f.files)
	first := b.one(large+", first start", nameCarrel, f.large, "true")
	state := f.root + "/first" // of its own: what is remembered there is taken away
	first.env = append(slices.Clone(f.env), "XDG_STATE_HOME="+state)
	list := []*contender{
		b.one("bwrap, no denies", nameBwrap, f.large, "true"),
		b.one(small, nameCarrel, f.repo, "true"),
		with(small+", 5 globs", f.repo),
		b.one(large, nameCarrel, f.large, "true"),
		with(large+", 5 globs", f.large),
		first,
		b.one("find, the same tree, no walls", nameNative, f.large, "find", f.large, "-name", "*.pem"),
	}
	b.interleave("large project", b.rounds, list, func(c *contender) (float64, error) {
		if c == first {
			if err := forget(state); err != nil {
				return 0, err
			}
		}
		return b.clock(c)
	})
	if err := b.hidden(list[4], f.large+"/group00/dir000/server.pem"); err != nil {
		list[4].problem = err
	}
	t := table{title: "Large project", unit: "ms",
		about: fmt.Sprintf("`true` in a project of %d files, with and without five deny globs: `%s`. "+
			"That the globs hold is checked by reading a file that they match. "+
			"A start before has remembered the directories, but for the row of a first start.",
			f.files, strings.Join(denyGlobs, "`, `")), rows: rows(list)}
	t.compare(large, small, 1.05, fmt.Sprintf("%d files, against the small project", f.files))
	t.compare(large+", 5 globs", small, 1.05, fmt.Sprintf("%d files and 5 deny globs, against the small project", f.files))
	return t
}

// forget takes away what is remembered of looks at projects.
func forget(state string) error {
	files, err := filepath.Glob(state + "/carrel/projects/*/looked")
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// hidden makes sure that a contender's command line hides a file.
func (b *wallSuite) hidden(c *contender, file string) error {
	if c.argv == nil {
		return nil
	}
	argv := append(c.argv[:len(c.argv)-1:len(c.argv)-1], "cat", file)
	out, err := output(c.dir, b.envOf(c), argv)
	if err == nil && out != "" {
		return fmt.Errorf("it does not hide %s", file)
	}
	return nil
}

func (b *wallSuite) masks() table {
	f := b.fixture
	var list []*contender
	for _, n := range []int{10, 100, 1000, maskFiles} {
		for _, c := range []*contender{b.masksOfBwrap(n), b.masksOfCarrel(n)} {
			list = append(list, c)
			if err := b.hidden(c, f.maskPath(n-1)); err != nil {
				c.problem = err
			}
		}
	}
	b.interleave("masks", max(b.rounds/4, 1), list, b.clock)
	return table{title: "Masks", unit: "ms",
		about: "`true` in a directory of which N single files are hidden by name: for bwrap as `--ro-bind /dev/null FILE`, for carrel as `deny:` in the user's configuration.", rows: rows(list)}
}

func (b *wallSuite) masksOfBwrap(n int) *contender {
	c := b.one(fmt.Sprintf("bwrap, %d masks", n), nameBwrap, b.fixture.masks, "true")
	if c.argv == nil {
		return c
	}
	var binds []string
	for i := range n {
		binds = append(binds, "--ro-bind", "/dev/null", b.fixture.maskPath(i))
	}
	c.argv = slices.Insert(c.argv, len(c.argv)-1, binds...)
	return c
}

func (b *wallSuite) masksOfCarrel(n int) *contender {
	c := b.one(fmt.Sprintf("carrel, %d masks", n), nameCarrel, b.fixture.masks, "true")
	conf := fmt.Sprintf("%s/conf%d", b.fixture.root, n)
	var text strings.Builder
	text.WriteString("deny:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - %q\n", b.fixture.maskPath(i))
	}
	if err := errors.Join(os.MkdirAll(conf+"/carrel", 0o700), os.WriteFile(conf+"/carrel/config.yaml", []byte(text.String()), 0o600)); err != nil {
		c.problem = err
	}
	c.env = append(slices.Clone(b.fixture.env), "XDG_CONFIG_HOME="+conf)
	return c
}
