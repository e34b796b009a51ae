//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// diagnosis is what doctor --json prints, as far as it is used here.
type diagnosis struct {
	Format int
	Ready  bool
	Kept   int
	Checks []finding
}

type finding struct {
	ID, Name, Status, Found, Errno, Cause, Means, Fix string
	Needed                                            bool
	Commands                                          []string
}

func (d *diagnosis) about(id string) finding {
	i := slices.IndexFunc(d.Checks, func(c finding) bool { return c.ID == id })
	if i < 0 {
		return finding{}
	}
	return d.Checks[i]
}

// diagnose asks doctor in the surroundings.
func (s *surroundings) diagnose(w *world, more ...string) *diagnosis {
	w.t.Helper()
	r := s.start(w, more, w.bin, "doctor", "--json")
	d := new(diagnosis)
	if err := json.Unmarshal([]byte(r.out), d); err != nil || d.Format != 1 {
		w.t.Fatalf("doctor --json: %v: %s", err, r)
	}
	if d.Ready != (r.code == 0) {
		w.t.Errorf("ready is %v: %s", d.Ready, r)
	}
	return d
}

// doctorCase is what it says in surroundings that are real, and whether its
// advice works when it is followed to the letter.
type doctorCase struct {
	surroundings
	check, status, cause string
	command              []string // for carrel run; nil for "true"
	flags                []string // of carrel run
	refused              bool     // carrel run does not work before the advice is followed
	told                 string   // what a run says as long as it is so
	asRoot               bool     // it is root whose control groups these are
	leave                bool     // the advice is to start outside of the filter
	words                string   // where the advice is words only: shell lines that do what they say
	after                string   // the check's status then; "" where the advice cannot be followed here
	afterFlags           []string // added to flags then
}

// doctorCases: with "simulated" in its name, one stands for what cannot be had
// here; all others are made by the kernel itself.
func doctorCases(w *world) []doctorCase {
	const limit = "mount -t tmpfs none /etc/sysctl.d\n" // where the advice writes
	state, own := w.home+"/.local/state", "chown -R $PERSON "+w.home+"/.local"
	with := "mkdir -p " + state + "/carrel && chmod 700 " + state + "/carrel && " + own + "\n"
	startHere := []string{"sh", "-c", `printf '#!/bin/sh\n' >started && chmod +x started && ./started`}
	return []doctorCase{
		{surroundings: surroundings{name: "no user namespaces left", made: byUser, script: limit + "echo 0 >/proc/sys/user/max_user_namespaces"},
			check: "user-namespaces", status: "missing", cause: "namespace-limit", refused: true, after: "ok"},
		{surroundings: surroundings{name: "the limit of user namespaces is used up", made: byUser,
			script: limit + "echo 1 >/proc/sys/user/max_user_namespaces\nunshare -U sleep 2 <&- >&- 2>&- &\nsleep 0.3"},
			check: "user-namespaces", status: "missing", cause: "namespace-limit", refused: true, after: "ok"},
		{surroundings: surroundings{name: "no mount namespaces left", made: byUser, script: limit + "echo 0 >/proc/sys/user/max_mnt_namespaces"},
			check: "namespaces", status: "missing", cause: "namespace-limit", refused: true, after: "ok"},
		{surroundings: surroundings{name: "no network namespaces left", made: byUser, script: limit + "echo 0 >/proc/sys/user/max_net_namespaces"},
			check: "network-namespaces", status: "missing", cause: "namespace-limit", refused: true, after: "ok"},
		{surroundings: surroundings{name: "a filter refuses user namespaces as docker's does", under: "nouserns"},
			check: "user-namespaces", status: "missing", cause: "syscall-filter", told: "engine landlock, because", leave: true, after: "ok"},
		{surroundings: surroundings{name: "simulated docker, its filter is real", under: "nouserns", script: "export container=docker"},
			check: "user-namespaces", status: "missing", cause: "container", told: "engine landlock, because"},
		{surroundings: surroundings{name: "a listener around", under: "listener"},
			check: "history", status: "weak", cause: "listener", refused: true, after: "weak", afterFlags: []string{"--history", "off"}},
		{surroundings: surroundings{name: "simulated kernel before 5.19", under: "old"},
			check: "history", status: "weak", cause: "syscall-filter", refused: true, leave: true, after: "ok"},
		{surroundings: surroundings{name: "process_vm_readv is refused as by docker's filter", under: "novm"},
			check: "memory", status: "ok", command: []string{"touch", "made"}},
		{surroundings: surroundings{name: "simulated kernel without the mount calls", under: "nomount"},
			check: "mounts", status: "missing", cause: "syscall-filter", refused: true, leave: true, after: "ok"},
		{surroundings: surroundings{name: "parts of /proc are covered", made: byRoot, script: coverProc},
			check: "proc", status: "weak", cause: "proc-covered", told: "refuses a fresh /proc", after: "ok"},
		{surroundings: surroundings{name: "control groups are root's", made: byRoot},
			check: "cgroups", status: "weak", cause: "cgroups-not-delegated", flags: []string{"--memory", "300m"}, refused: true, after: "ok"},
		{surroundings: surroundings{name: "control groups are read-only", made: byRoot, script: "mount -o remount,bind,ro /sys/fs/cgroup/memory"},
			check: "cgroups", status: "weak", cause: "cgroups-read-only", flags: []string{"--memory", "300m"}, refused: true, asRoot: true, after: "ok"},
		{surroundings: surroundings{name: "no control groups are mounted", made: byRoot, script: "umount -R /sys/fs/cgroup"},
			check: "cgroups", status: "weak", cause: "no-cgroups", flags: []string{"--memory", "300m"}, refused: true},
		{surroundings: surroundings{name: "the state directory is read-only", made: byRoot, script: with + "mount -t tmpfs -o ro,mode=700,uid=$PERSON none " + state},
			check: "state", status: "weak", cause: "read-only", told: "changes cannot be recorded", refused: true, after: "ok"},
		{surroundings: surroundings{name: "the state directory is another user's", made: byRoot, script: with + "chown 1 " + state + "/carrel"},
			check: "state", status: "weak", cause: "not-ours", told: "changes cannot be recorded", refused: true, after: "ok"},
		{surroundings: surroundings{name: "others can write the state directory", made: byRoot, script: with + "chmod 777 " + state + "/carrel"},
			check: "state", status: "weak", cause: "not-ours", told: "changes cannot be recorded", refused: true, after: "ok"},
		{surroundings: surroundings{name: "the state directory's disk is full", made: byRoot,
			script: with + "mount -t tmpfs -o size=64k,mode=700,uid=$PERSON none " + state + "\nhead -c 1M /dev/zero >" + state + "/fill 2>/dev/null || true"},
			check: "space", status: "weak", cause: "disk-full", command: []string{"touch", "made"}, refused: true, after: "ok",
			words: "mkdir -p -m 700 " + w.base + "/roomy && chown $PERSON " + w.base + "/roomy\nexport XDG_STATE_HOME=" + w.base + "/roomy"},
		{surroundings: surroundings{name: "the project is noexec", made: byRoot, script: "mount -t tmpfs -o noexec,mode=700,uid=$PERSON none " + w.project + "\ncd " + w.project},
			check: "noexec", status: "weak", cause: "noexec", command: startHere, refused: true, after: "ok"},
		{surroundings: surroundings{name: "inside bubblewrap", script: `exec bwrap --dev-bind / / --unshare-all --share-net --proc /proc -- "$@"`}, check: "proc", status: "ok"},
		{surroundings: surroundings{name: "hidepid", made: byRoot, script: "mount -t proc -o hidepid=2 proc /proc"}, check: "proc", status: "ok"},
		{surroundings: surroundings{name: "nosuid everywhere", made: byRoot, script: "mount -o remount,bind,nosuid /"}, check: "mounts", status: "ok"},
		{surroundings: surroundings{name: "no /tmp to write or start from", made: byRoot, script: "mount -t tmpfs -o ro,noexec none /tmp"}, check: "mounts", status: "ok"},
	}
}

// TestDoctor: in each of the surroundings doctor names the cause, carrel run
// does what doctor says, and works once its advice has been followed.
func TestDoctor(t *testing.T) {
	t.Parallel()
	names := newWorld(t, ordinary(t))
	for i, c := range doctorCases(names) {
		t.Run(c.name, func(t *testing.T) {
			p := ordinary(t)
			if c.asRoot {
				p = people()[0]
			}
			w := newWorld(t, p)
			doctorCases(w)[i].try(w)
		})
	}
}

func (c *doctorCase) try(w *world) {
	w.t.Helper()
	if c.made == byRoot && os.Getuid() != 0 {
		w.t.Skip("mounting a file system takes root")
	}
	if own, _ := os.ReadFile("/proc/self/cgroup"); c.check == "cgroups" && !strings.Contains(string(own), ":memory:") {
		w.t.Skip("no control group to limit root here") // version 1 is what can be had for these
	}
	w.litter = true
	w.t.Cleanup(func() { removeDelegated(w) })
	found := c.diagnose(w).about(c.check)
	if found.Status != c.status || found.Cause != c.cause {
		w.t.Fatalf("got %s, cause %q, errno %s, found %q; want %s, cause %q", found.Status, found.Cause, found.Errno, found.Found, c.status, c.cause)
	}
	if r := c.run(w, nil, nil); (r.code != 0) != c.refused || !strings.Contains(r.err, c.told) {
		w.t.Fatalf("before: %s", r)
	}
	if c.after == "" {
		return
	}
	advice := found.Commands
	switch {
	case c.leave:
		c.under = ""
	case c.words != "":
		advice = []string{c.words}
	case len(advice) == 0:
		w.t.Fatalf("no command in the advice %q", found.Fix)
	}
	if got := c.diagnose(w, advice...).about(c.check); got.Status != c.after {
		w.t.Errorf("after %q: %s, cause %q, found %q", advice, got.Status, got.Cause, got.Found)
	}
	if r := c.run(w, advice, c.afterFlags); r.code != 0 || c.told != "" && strings.Contains(r.err, c.told) {
		w.t.Errorf("after %q: %s", advice, r)
	}
}

// run is carrel run in the surroundings, after following advice.
func (c *doctorCase) run(w *world, advice, flags []string) result {
	w.t.Helper()
	command := c.command
	if command == nil {
		command = []string{"true"}
	}
	return c.start(w, advice, slices.Concat([]string{w.bin, "run"}, c.flags, flags, []string{"--"}, command)...)
}
