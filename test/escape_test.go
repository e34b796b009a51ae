//go:build linux

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reachable is all that the survey may find, as patterns of whole lines. What is
// not here and reachable from inside fails the test, whatever put it there.
var reachable = []string{
	// File systems of the workspace's own, and private copies on disk.
	`mount writable (~|~/.*|/tmp|/var/tmp|/dev/pts|/dev/shm|/proc|RUNTIME)`,
	// Bound nodes of devices; a private devpts and procfs.
	`mount with devices /dev/(null|zero|full|random|urandom|tty|pts)`,
	`mount with devices /proc(/.*)?`,
	`device /dev/(null|zero|full|random|urandom|tty|pts/ptmx)`,
	`socket /run/carrel/api\.sock`,
	`descriptor [012] .*`,
	`namespace .*`,
	`kernel file writable /proc/self/(attr/(apparmor/)?(current|exec|fscreate|keycreate|prev|sockcreate)|autogroup|clear_refs|comm|coredump_filter|fail-nth|gid_map|latency|loginuid|make-it-fail|mem|oom_adj|oom_score_adj|projid_map|reclaim|sched|seccomp_cache|setgroups|timens_offsets|timerslack_ns|uid_map)`,
	// Of the stage: files that anybody may open and that ask for a capability when
	// they are written.
	`kernel file writable /proc/N/(task/N/)?attr/(apparmor/)?(current|exec|fscreate|keycreate|prev|sockcreate)`,
	`kernel file writable /proc/N/timerslack_ns`,
	`kernel file writable /proc/sys/kernel/ns_last_pid`,
	// Triggers of pressure stall information belong to who opens them.
	`kernel file writable /proc/pressure/(cpu|io|irq|memory)`,
}

// reachableByUser is what everybody but root finds beside that. The kernel lists
// the keys that the reader may see, here the names and not the content: reading
// and using keys takes a system call that is refused.
var reachableByUser = []string{`readable /proc/keys`}

// reachableByRoot is what uid 0 finds: files of the stage belong to it. None of
// them shows or changes memory or descriptors; what they do change is the stage's
// place in the scheduler and before the out-of-memory killer.
var reachableByRoot = []string{
	`kernel file writable /proc/N/(task/N/)?(autogroup|clear_refs|comm|coredump_filter|fail-nth|gid_map|latency|loginuid|make-it-fail|oom_adj|oom_score_adj|projid_map|reclaim|sched|setgroups|timens_offsets|uid_map)`,
}

// reachableInBubblewrap is what engine bubblewrap leaves beside that: settings of
// the workspace's own IPC and pid namespaces, nodes of devices that belong to
// root, and no secure bits, as there is no capability that could set them.
var reachableInBubblewrap = []string{
	`kernel file writable /proc/sys/(fs/mqueue/.*|kernel/(auto_msgmni|msg\w+|sem|sem_next_id|shm\w+|pid_max))`,
	`mount writable (PROJECT|/run/carrel|/dev/(null|zero|full|random|urandom|tty))`,
	`secure bits 0x0`,
}

// TestSurvey: an escape checker finds what is in the list above, in every form
// of the walls, and a lot where there are none.
func TestSurvey(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.setenv("HARMLESS", "1")
		if outside := w.canary("survey", w.home, w.project, w.runtime); strings.Count(outside, "\n") < 30 || !strings.Contains(outside, "mount writable /\n") {
			t.Fatalf("canary: the survey finds little outside: %s", cut(outside))
		}
		w.unsetenv("HARMLESS")
		allowed := slices.Concat(reachable, reachableByUser)
		if p.uid == 0 {
			allowed = slices.Concat(reachable, reachableByRoot)
		}
		open := w.attack([]string{"--network", "open"}, "survey", w.home, w.project, w.runtime)
		unexpected(t, "network open", strings.ReplaceAll(open, own("net"), "net:own"), allowed)
		tree := w.attack(nil, "survey", w.home, w.project, w.runtime, "tree")
		unexpected(t, "the tree", tree, allowed, "socket /run/carrel/api.sock")
		for _, nested := range nestings {
			for _, history := range []string{"on", "off"} {
				also := slices.Clone(allowed)
				if history == "off" {
					also = append(also, "mount writable PROJECT")
				}
				got := w.attack([]string{"--nested", nested, "--history", history}, "survey", w.home, w.project, w.runtime)
				unexpected(t, "nested "+nested+", history "+history, got, also,
					"mount writable /tmp", "device /dev/null", "kernel file writable /proc/self/comm", "descriptor 0 /dev/null")
			}
		}
	})
}

// TestSurveyOfBubblewrap: the same where the system's bubblewrap makes the mounts.
func TestSurveyOfBubblewrap(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.need("bwrap")
	for _, nested := range nestings[:2] {
		got := w.attack([]string{"--engine", "bubblewrap", "--history", "off", "--nested", nested}, "survey", w.home, w.project, w.runtime)
		unexpected(t, "nested "+nested, got, slices.Concat(reachable, reachableByUser, reachableInBubblewrap), "mount writable /tmp", "secure bits 0x0")
	}
}

// unexpected compares the lines of a survey with patterns. Some have to be
// there, else the survey did not look.
func unexpected(t *testing.T, where, found string, patterns []string, must ...string) {
	t.Helper()
	match := regexp.MustCompile(`^(` + strings.Join(patterns, "|") + `)$`)
	lines := strings.Split(strings.TrimPrefix(found, "ok \n"), "\n")
	for _, line := range lines {
		if !match.MatchString(line) {
			t.Errorf("%s: found %q", where, line)
		}
		if space, ok := strings.CutPrefix(line, "namespace "); ok {
			if kind, _, _ := strings.Cut(space, ":"); space == own(kind) {
				t.Errorf("%s: the %s namespace is the tests' own", where, kind)
			}
		}
	}
	for _, line := range must {
		if !slices.Contains(lines, line) {
			t.Errorf("%s: the survey does not find %q", where, line)
		}
	}
}

// TestControlGroups: with mounts and a control group namespace of one's own, the
// machine's control groups can be mounted, and their files are root's (in the
// manner of CVE-2022-0492).
func TestControlGroups(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		space := "in"
		if p.uid == 0 {
			space = "bare" // uid 0 cannot be mapped again inside
			if got := w.canary("bare", "user+mnt+cgroup", "mountable"); !strings.Contains(got, "cgroup2:cgroup.procs") {
				t.Fatalf("canary: %q", got)
			}
		}
		for _, nested := range nestings {
			for _, spaces := range []string{"user+mnt+cgroup", "user+mnt", "mnt"} {
				got := w.attack([]string{"--nested", nested}, space, spaces, "mountable")
				for word := range strings.FieldsSeq(got) {
					if name, file, ok := strings.Cut(word, ":"); ok && (strings.HasPrefix(name, "cgroup") || name == "cpuset") {
						t.Errorf("nested %s, %s: can write %s of %s", nested, spaces, file, name)
					}
				}
				if spaces == "user+mnt" && strings.Contains(got, "tmpfs") != (nested == "full") {
					t.Errorf("nested %s: mounts are %q", nested, got)
				}
			}
		}
	})
}

// TestMountableFileSystems: level full lets mount what is one's own, and nothing
// that shows or changes the machine.
func TestMountableFileSystems(t *testing.T) {
	w := newWorld(t, ordinary(t))
	own := strings.Fields("binfmt_misc bpf cgroup cgroup2 cpuset devpts mqueue overlay proc ramfs tmpfs ok inside: cgroup:memory")
	got := w.attack([]string{"--nested", "full"}, "in", "user+mnt+cgroup+pid", "mountable")
	for _, word := range strings.Fields(got) {
		if !slices.Contains(own, word) && !strings.HasPrefix(word, "proc:") && !strings.HasPrefix(word, "binfmt_misc:") {
			t.Errorf("level full can mount or write %q", word)
		}
	}
	if !strings.Contains(got, " tmpfs") {
		t.Errorf("canary: nothing can be mounted: %q", got)
	}
}
