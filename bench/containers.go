package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The rows of the suite of containers. Each of carrel's follows what it is measured against.
const (
	rowPodmanRun  = "podman run --rm"
	rowCarrelRun  = "carrel run --backend container"
	rowPodmanExec = "podman exec"
	rowCarrelExec = "carrel exec, in a container"
)

// containerImage is made for the measurement: links and empty directories. Its programs are
// the host's, by a mount, in all ways alike.
const containerImage = "localhost/carrel-bench:host"

// containerJobs are what is done in a directory of the host, on its mount.
var containerJobs = []struct {
	name, prepare, work string
	reads               bool
}{
	{"git status", "", "git -C repo status --short", true},
	{"untar of 3,000 files", "rm -rf tree", "tar xf tree.tar", false},
	{"rm -rf of 3,000 files", "rm -rf tree; tar xf tree.tar", "rm -rf tree", false},
}

// containerDir has what the jobs work on.
const containerDir = `set -eu
mkdir -p tree image/usr image/home image/var image/etc/alternatives repo
for name in bin sbin lib lib64; do ln -s usr/$name image/$name; done
cp /etc/ld.so.cache image/etc
echo root:x:0:0:root:/root:/bin/sh >image/etc/passwd
tar -C image -cf image.tar .
for i in $(seq 3000); do mkdir -p tree/d$((i % 60)); echo line $i >tree/d$((i % 60))/f$i; done
tar -cf tree.tar tree
cp -r tree repo
git -C repo init -q
git -C repo add .
git -C repo -c user.name=a -c user.email=b commit -qm one`

// containers measures what starts in containers of podman, without and with carrel, and then
// work in one of each.
func containers(b *bench) table {
	t := table{title: "Containers", unit: "ms",
		about: "`true` in a container, from fork to end, and in one that runs; then work on a mount of the same directory, " +
			"whose time is measured inside. The image holds no program: `/usr` is the host's, mounted read-only in all of them. " +
			"podman's containers have no network and a read-only root, as carrel's."}
	t.failed(measureContainers(b, &t))
	return t
}

func measureContainers(b *bench, t *table) error {
	dir := filepath.Join(b.fixture.root, "containers")
	podman := find("podman")
	if podman == "" {
		return errMissing
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	env := b.fixture.env
	if err := errors.Join(once(dir, env, []string{find("bash"), "-c", containerDir}),
		once(dir, env, []string{podman, "import", dir + "/image.tar", containerImage})); err != nil {
		return err
	}
	defer func() { _ = once(dir, env, []string{podman, "rmi", "--force", containerImage}) }()
	options := []string{"--pull", "never", "--log-driver", "none", "--read-only", "--cap-drop", "all", "--network", "none",
		"--mount", "type=bind,source=/usr,target=/usr,readonly", "--mount", "type=bind,source=" + dir + ",target=" + dir, "-w", dir}
	boxed := []string{"--backend", "container", "--image", containerImage, "--read", "/usr"}
	join := func(words []string, lists ...[]string) []string {
		for _, l := range lists {
			words = append(words, l...)
		}
		return words
	}
	const name = "carrel-bench"
	started := func(argv, end []string) (func(), error) {
		return func() { _ = once(dir, env, end) }, once(dir, env, argv)
	}
	endPlain, err := started(join([]string{podman, "run", "--detach", "--rm", "--name", name}, options, []string{containerImage,
		"sleep", "36000"}),
		[]string{podman, "rm", "--force", name})
	defer endPlain()
	if err != nil {
		return err
	}
	endOurs, err := started(join([]string{b.carrel, "start"}, boxed, []string{name}), []string{b.carrel, "stop", name})
	defer endOurs()
	if err != nil {
		return err
	}
	ways := []*contender{
		{name: rowPodmanRun, argv: join([]string{podman, "run", "--rm"}, options, []string{containerImage, "true"})},
		{name: rowCarrelRun, argv: join([]string{b.carrel, "run"}, boxed, []string{"--", "true"})},
		{name: rowPodmanExec, argv: []string{podman, "exec", name, "true"}},
		{name: rowCarrelExec, argv: []string{b.carrel, "exec", name, "--", "true"}},
	}
	for _, c := range ways {
		c.dir = dir
	}
	b.interleave("containers", b.rounds, ways, b.clock)
	t.rows = rows(ways)
	t.over(rowCarrelRun, rowPodmanRun, 30, "a start, over podman's own")
	t.over(rowCarrelExec, rowPodmanExec, 10, "a command in one that runs, over podman's own")
	for _, j := range containerJobs {
		script := "set -e; s=${EPOCHREALTIME/./}; " + j.work + " >/dev/null; echo $((${EPOCHREALTIME/./}-s))"
		pair := []*contender{
			{name: j.name + ", podman", dir: dir, argv: []string{podman, "exec", name, "bash", "-c", script}, prepare: j.prepare},
			{name: j.name + ", carrel", dir: dir, argv: []string{b.carrel, "exec", name, "--", "bash", "-c", script}, prepare: j.prepare},
		}
		b.turns(j.name+" in containers", max(b.rounds/4, 3), pair, func(c *contender, counts bool) error {
			if err := once(dir, env, []string{find("bash"), "-c", c.prepare}); err != nil {
				return err
			}
			out, err := output(dir, env, c.argv)
			micros, parseErr := strconv.Atoi(strings.TrimSpace(out))
			if err = errors.Join(err, parseErr); err == nil && counts {
				c.got = append(c.got, float64(micros)/1000)
			}
			return err
		})
		t.rows = append(t.rows, rows(pair)...)
		most := 0.0
		if j.reads {
			most = 1.05
		}
		if most > 0 {
			t.compare(pair[1].name, pair[0].name, most, fmt.Sprintf("%s, against a plain mount", j.name))
		} else {
			t.atLeast(pair[1].name, pair[0].name, 0, fmt.Sprintf("%s, against a plain mount", j.name))
		}
	}
	return nil
}
