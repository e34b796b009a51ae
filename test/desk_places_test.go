//go:build linux

package e2e

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// fill writes into a file until the disk is full.
func (w *world) fill(file string) {
	w.t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	w.must(err)
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 4
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		w.t.Fatalf("filling the disk: %v", err)
	}
}

// TestDeskFullDisk: where nothing can be written down nothing is started; what runs
// goes on, and can be held and stopped.
func TestDeskFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mount("tmpfs", w.outside+"/state", "size=4m,mode=0777")
	w.setenv("XDG_STATE_HOME", w.outside+"/state")
	s := &stay{w: w, name: "full"}
	t.Cleanup(s.end)
	w.fill(w.outside + "/state/fill")
	for range 2 {
		r := s.do("start")
		if r.code != 125 || !strings.Contains(r.err, "no space left") || len(w.ps()) != 0 {
			t.Errorf("start on a full disk: %s", r)
		}
		eventually(t, "no supervisor to be left", func() bool { return supervisors(w) == 0 })
	}
	w.must(os.Remove(w.outside + "/state/fill"))
	s.fine("start")
	s.ns = strings.TrimSpace(s.sh("readlink /proc/self/ns/pid"))
	s.launch("counter", "n=0; while :; do n=$((n+1)); echo $n > /tmp/n; echo $n; sleep 0.02; done")
	waitABit()
	w.fill(w.outside + "/state/fill")
	was := s.sh("cat /tmp/n")
	if out := s.sh("echo works"); out != "works\n" {
		t.Errorf("a command: %q", out)
	}
	if is := s.sh("sleep 0.1; cat /tmp/n"); is == was {
		t.Error("what ran before stands still")
	}
	if r := s.do("launch", "--", "true"); r.code != 0 && !strings.Contains(r.err, "no space left") {
		t.Errorf("launch: %s", r)
	}
	for _, mode := range []string{"read_only", "paused"} {
		r := s.do("control", mode)
		if s.mode() != mode || r.code != 0 && !strings.Contains(r.err, "no space left") {
			t.Errorf("%s on a full disk: %s, and it is %s", mode, r, s.mode())
		}
		if r := s.do("exec", "--", "true"); r.code != 125 {
			t.Errorf("%s on a full disk: exec: %s", mode, r)
		}
	}
	if d := s.status(); len(d.Apps) == 0 || d.State != "paused" {
		t.Errorf("status: %+v", d)
	}
	if r := s.do("stop"); r.code != 0 || len(s.inside()) != 0 {
		t.Errorf("stop: %s", r)
	}
	w.must(os.Remove(w.outside + "/state/fill"))
	if d := s.status(); d.State != "stopped" {
		t.Errorf("afterwards: %+v", d)
	}
	s.fine("revoke")
	w.unmount(w.outside + "/state")
}

// TestDeskPlaces: found whatever the environment of the one side and of the other says.
func TestDeskPlaces(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("/a-long-way", 12)
	for _, tt := range []struct {
		name            string
		starting, after func(w *world)
	}{
		{"a socket path that is too long", func(w *world) { w.mkdir(w.runtime+long, 0o700); w.setenv("XDG_RUNTIME_DIR", w.runtime+long) }, nil},
		{"no runtime directory", func(w *world) { w.unsetenv("XDG_RUNTIME_DIR") }, nil},
		{"no runtime directory afterwards", nil, func(w *world) { w.unsetenv("XDG_RUNTIME_DIR") }},
		{"another runtime directory afterwards", nil, func(w *world) { w.mkdir(w.outside+"/run", 0o700); w.setenv("XDG_RUNTIME_DIR", w.outside+"/run") }},
		{"no runtime directory before", func(w *world) { w.unsetenv("XDG_RUNTIME_DIR") }, func(w *world) { w.setenv("XDG_RUNTIME_DIR", w.runtime) }},
		{"a runtime directory that is not there", func(w *world) { w.setenv("XDG_RUNTIME_DIR", w.outside+"/nothing/there") }, nil},
		{"a long way and another", func(w *world) { w.mkdir(w.runtime+long, 0o700); w.setenv("XDG_RUNTIME_DIR", w.runtime+long) }, func(w *world) { w.unsetenv("XDG_RUNTIME_DIR") }},
		{"a long state directory", func(w *world) { w.unsetenv("XDG_RUNTIME_DIR"); w.setenv("XDG_STATE_HOME", w.outside+long) }, nil},
		{"the program was replaced", nil, func(w *world) {
			w.must(copyFile(w.bin, w.bin+".new", 0o755))
			w.must(os.Rename(w.bin+".new", w.bin))
		}},
		{"the program is gone and another is there", nil, func(w *world) {
			w.must(os.Remove(w.bin))
			w.must(copyFile(built.carrel, w.bin, 0o755))
		}},
		{"another directory", nil, func(w *world) { w.project = w.outside }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			if tt.starting != nil {
				tt.starting(w)
			}
			s := w.stays("place")
			s.launch("sleeper", "exec sleep 4301")
			id := s.status().ID
			if tt.after != nil {
				tt.after(w)
			}
			if out := s.sh("echo works"); out != "works\n" {
				t.Errorf("exec: %q", out)
			}
			if r := s.do("start"); (r.out != "running already: place\n") != (tt.name == "another directory") {
				t.Errorf("start: %s", r)
			}
			if d := s.status(); d.ID != id || d.State != "running" || len(d.Apps) != 3 {
				t.Errorf("status: %+v", d)
			}
			if out := w.fine("list"); !strings.Contains(out, "running") {
				t.Errorf("list: %s", out)
			}
			s.fine("kill", "sleeper")
			if r := s.do("stop"); r.code != 0 || len(s.inside()) != 0 {
				t.Errorf("stop: %s", r)
			}
			if d := s.status(); d.State != "stopped" {
				t.Errorf("afterwards: %+v", d)
			}
			s.fine("revoke")
		})
	}
}

// TestDeskWithoutHome: with HOME unset a workspace is started, or refused with the
// reason; it is not started where nobody finds it.
func TestDeskWithoutHome(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		if p.uid == 0 {
			w.setenv("XDG_STATE_HOME", w.outside+"/state") // the machine's own root has a home
		}
		w.unsetenv("HOME")
		s := &stay{w: w, name: "homeless"}
		t.Cleanup(s.end)
		r := s.do("start")
		switch {
		case r.code == 0:
			if out := s.sh("echo works"); out != "works\n" {
				t.Errorf("%q", out)
			}
			s.fine("revoke")
		case r.code != 125 || !strings.Contains(r.err, "state") && !strings.Contains(r.err, "HOME"):
			t.Errorf("%s", r)
		}
		eventually(t, "no supervisor to be left", func() bool { return supervisors(w) == 0 })
	})
}
