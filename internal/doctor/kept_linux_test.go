package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// keep writes one answer and gives the file.
func keep(t *testing.T, m *Machine, state string) string {
	t.Helper()
	a := Open(m, state, false)
	_ = a.ask("try mounts", func() error { return nil })
	if err := a.Save(state); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(state, answersFile)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnswersOfOthersDoNotCount: what another user could have written, or put
// there, is not believed; the file itself is written for this user alone.
func TestAnswersOfOthersDoNotCount(t *testing.T) {
	m := healthy()
	tests := []struct {
		name  string
		spoil func(t *testing.T, state, file string)
		kept  bool
	}{
		{"untouched", func(*testing.T, string, string) {}, true},
		{"writable by the group", func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o620)) }, false},
		{"writable by all", func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o602)) }, false},
		{"directory writable by all", func(t *testing.T, state, _ string) { must(t, os.Chmod(state, 0o777)) }, false},
		{"a link", func(t *testing.T, state, file string) {
			must(t, os.Rename(file, state+"/other"))
			must(t, os.Symlink("other", file))
		}, false},
		{"a second name", func(t *testing.T, state, file string) { must(t, os.Link(file, state+"/other")) }, false},
		{"a FIFO", func(t *testing.T, _, file string) { must(t, os.Remove(file)); must(t, unix.Mkfifo(file, 0o600)) }, false},
		{"a directory", func(t *testing.T, _, file string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o700)) }, false},
		{"somebody else's", func(t *testing.T, _, file string) {
			if os.Getuid() != 0 {
				t.Skip("making files of somebody else takes root")
			}
			must(t, os.Chown(file, 4242, 4242))
		}, false},
		{"no permission", func(t *testing.T, _, file string) { must(t, os.Truncate(file, 10)) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state := t.TempDir()
			must(t, os.Chmod(state, 0o700))
			file := keep(t, m, state)
			if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("written with %v, %v", st.Mode(), err)
			}
			tt.spoil(t, state, file)
			if got := Open(m, state, false).yes["try mounts"]; got != tt.kept {
				t.Errorf("believed: %v, want %v", got, tt.kept)
			}
			if got := Open(m, state, true).yes["try mounts"]; got {
				t.Error("believed although asked to try everything")
			}
		})
	}
}

// TestAnswersNeedTheSameMachine: what a yes depends on is in the key.
func TestAnswersNeedTheSameMachine(t *testing.T) {
	state := t.TempDir()
	must(t, os.Chmod(state, 0o700))
	keep(t, healthy(), state)
	if !Open(healthy(), state, false).yes["try mounts"] {
		t.Fatal("canary: nothing is kept")
	}
	for name, c := range map[string]change{
		"boot":     sysctl("kernel.random.boot_id", "other"),
		"AppArmor": sysctl("kernel.apparmor_restrict_unprivileged_userns", "1"),
		"limit":    sysctl("user.max_user_namespaces", "0"),
		"mounts":   files(map[string]string{"/proc/self/mountinfo": "1 1 8:1 / /proc/kcore rw - tmpfs a rw\n"}),
		"filter":   files(map[string]string{"/proc/self/status": "Seccomp:\t2\n"}),
		"label":    files(map[string]string{"/proc/self/attr/apparmor/current": "snap.x (enforce)"}),
		"user":     root,
		"program":  self("/opt/carrel"),
	} {
		m := healthy()
		c(m)
		if Open(m, state, false).yes["try mounts"] {
			t.Errorf("another %s: still believed", name)
		}
	}
}

// TestNoStateDirectoryIsMade: a question leaves nothing in home.
func TestNoStateDirectoryIsMade(t *testing.T) {
	dir := t.TempDir()
	a := Open(healthy(), dir+"/none", false)
	_ = a.ask("memory", func() error { return nil })
	if err := a.Save(dir + "/none"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSaveReplacesWhole: an older file goes, and a full directory is told.
func TestSaveReplacesWhole(t *testing.T) {
	state := t.TempDir()
	must(t, os.Chmod(state, 0o700))
	must(t, os.WriteFile(state+"/"+answersFile, []byte(strings.Repeat("x", 100_000)), 0o600))
	keep(t, healthy(), state)
	if entries, err := os.ReadDir(state); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if !Open(healthy(), state, false).yes["try mounts"] {
		t.Error("not replaced")
	}
}
