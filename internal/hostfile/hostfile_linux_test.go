package hostfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReadHead: a regular file is read up to a bound; nothing is followed or waited for.
func TestReadHead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"file": "0123456789", "empty": ""} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("file", at("link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		fails      bool
	}{{"file", "0123", false}, {"empty", "", true}, {"link", "", true}, {"fifo", "", true}, {".", "", true}, {"none", "", true}} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err := ReadHead(at(c.name), 4)
			if string(got) != c.want || (err != nil) != c.fails {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: it waits", c.name)
		}
	}
}

// TestLock: one holds it, another gives up after its time and says so, and a link is no
// lock.
func TestLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(file, 0)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := Lock(file, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "another carrel") || time.Since(begin) < 50*time.Millisecond {
		t.Errorf("a second one: %v after %v", err, time.Since(begin))
	}
	got := make(chan error)
	go func() {
		again, err := Lock(file, 10*time.Second)
		if err == nil {
			again()
		}
		got <- err
	}()
	time.Sleep(20 * time.Millisecond)
	unlock()
	if err := <-got; err != nil {
		t.Errorf("one that waits: %v", err)
	}
	if err := os.Symlink(file, file+"2"); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(file+"2", 0); err == nil {
		t.Error("a link was locked")
	}
}

// TestChangeTime: a time that a program sets is not the time of change, and a file of this
// user's is known.
func TestChangeTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Unix(1000, 0)
	if err := os.Chtimes(file, long, long); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !OwnedByUs(st) || !st.ModTime().Equal(long) || time.Since(ChangeTime(st)) > time.Minute {
		t.Errorf("ours %v, written %v, changed %v", OwnedByUs(st), st.ModTime(), ChangeTime(st))
	}
	if proc, err := os.Stat("/proc/1"); err == nil && OwnedByUs(proc) != (os.Getuid() == 0) {
		t.Errorf("the first process's directory is ours: %v", OwnedByUs(proc))
	}
}
