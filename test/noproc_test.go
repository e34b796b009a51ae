//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// covered are surroundings in which the kernel refuses a fresh /proc: parts of
// it covered, and with the kernel's settings read-only as containers have them.
var covered = []surroundings{
	{name: "covered", made: byRoot, script: coverProc},
	{name: "covered, settings read-only", made: byRoot, script: coverProc + "\nmount --bind /proc/sys /proc/sys\nmount -o remount,bind,ro /proc/sys"},
}

// eachCovered runs a scenario for everybody in both of them.
func eachCovered(t *testing.T, scenario func(t *testing.T, w *world, s *surroundings)) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	for i := range covered {
		t.Run(covered[i].name, func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) { scenario(t, newWorld(t, p), &covered[i]) })
		})
	}
}

// TestNoFreshProc: where a fresh /proc is refused, the one around is never
// shown; commands run with one that tells nothing of any process, and that is
// announced. Changes are brokered as always.
func TestNoFreshProc(t *testing.T) {
	eachCovered(t, func(t *testing.T, w *world, s *surroundings) {
		sleeper := w.sleeper()
		pid := strconv.Itoa(sleeper.Process.Pid)
		if r := s.start(w, nil, "cat", "/proc/"+pid+"/comm"); r.code != 0 {
			t.Errorf("canary: the process is not seen outside: %s", r)
		}
		if r := s.start(w, nil, "unshare", "-Urmpf", "--mount-proc", "true"); r.code == 0 {
			t.Errorf("canary: a fresh /proc can be mounted: %s", r)
		}
		script := `ls -A /proc; cat /proc/meminfo >/dev/null && echo memory; ls -d /proc/` + pid + ` /proc/1 /proc/self /proc/sys; echo x >/proc/made; mkdir /proc/dir; echo y >made; cat made`
		r := s.start(w, nil, w.bin, "run", "--", "sh", "-c", script)
		if r.code != 0 || w.read(w.project+"/made") != "y\n" {
			t.Errorf("the command: %s", r)
		}
		for _, name := range strings.Fields(r.out) {
			if _, err := strconv.Atoi(name); err == nil || strings.HasPrefix(name, "/proc/") || name == "self" || name == "sys" || name == "made" || name == "dir" {
				t.Errorf("/proc has %q inside", name)
			}
		}
		if !strings.Contains(r.out, "memory") || !strings.Contains(r.out, "cpuinfo") {
			t.Errorf("programs cannot size themselves: %s", r)
		}
		if !strings.Contains(r.err, "refuses a fresh /proc") || !strings.Contains(r.err, "carrel doctor") {
			t.Errorf("not announced: %s", r)
		}
		if out := s.start(w, nil, w.bin, "history").out; !strings.Contains(out, "sh -c") {
			t.Errorf("the change is in no step: %q", out)
		}
	})
}

// TestNoFreshProcWalls: what limits held that cannot be set now, the filter
// holds; signals and memory of processes outside stay out of reach.
func TestNoFreshProcWalls(t *testing.T) {
	eachCovered(t, func(t *testing.T, w *world, s *surroundings) {
		sleeper := w.sleeper()
		pid := strconv.Itoa(sleeper.Process.Pid)
		tests := []struct {
			level, script string
			works         bool
		}{
			{"none", "unshare -U true", false},
			{"none", "unshare -Um true", false},
			{"userns", "unshare -Um true", false},
			{"userns", "mount -t tmpfs none /tmp", false},
			{"userns", "kill -0 " + pid, false},
			{"full", "unshare -Urm mount -t proc proc /tmp", false},
			{"full", "unshare -Urm umount /proc/meminfo", false},
			{"userns", "unshare -U true", true},
			{"none", "test -e /proc/version", true},
		}
		for _, tt := range tests {
			if w.who.uid == 0 && tt.works && strings.HasPrefix(tt.script, "unshare") {
				continue // see TestNestedNamespaces
			}
			r := s.start(w, nil, w.bin, "run", "--nested", tt.level, "--history", "off", "--", "sh", "-c", tt.script)
			if (r.code == 0) != tt.works {
				t.Errorf("nested %s: %s: %s", tt.level, tt.script, r)
			}
		}
		if r := s.start(w, nil, "sh", "-c", "unshare -Um true && kill -0 "+pid); r.code != 0 {
			t.Errorf("canary: %s", r)
		}
	})
}

// TestNoFreshProcNetwork: a network that needs a setting which cannot be written
// is refused, not had with less.
func TestNoFreshProcNetwork(t *testing.T) {
	eachCovered(t, func(t *testing.T, w *world, s *surroundings) {
		readOnly := strings.Contains(s.name, "read-only")
		r := s.start(w, nil, w.bin, "run", "--allow-host", "example.org", "--", "true")
		if (r.code == 0) == readOnly {
			t.Errorf("filtered: %s", r)
		}
		if readOnly && !strings.Contains(r.err, "ip_unprivileged_port_start") {
			t.Errorf("filtered: it does not say what is missing: %s", r)
		}
		r = s.start(w, nil, w.bin, "run", "--network", "local", "--", "python3", "-c", "import socket; s = socket.create_server(('127.0.0.1', 8080)); socket.create_connection(s.getsockname())")
		if r.code != 0 || strings.Contains(r.err, "below 1024") != readOnly {
			t.Errorf("local: %s", r)
		}
	})
}
