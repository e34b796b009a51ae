package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// again runs one test of this program in another process, in new namespaces
// where flags say so, and skips where that is not allowed.
func again(t *testing.T, name, variable, value string, flags uintptr) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+value)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC), bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("%v %s", err, out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestFilesAreReplacedWhole(t *testing.T) {
	dir := place(t)
	at := filepath.Join(dir.Name(), "f")
	if err := os.Symlink("/nonexistent/elsewhere", at); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				if err := WriteFile(dir, "f", bytes.Repeat([]byte{byte('a' + i)}, 1000*(i+1))); err != nil {
					t.Error(err)
				}
				b, err := ReadFile(dir, "f", 8000)
				if err != nil || len(b) == 0 || len(b) != 1000*int(b[0]-'a'+1) || bytes.Count(b, b[:1]) != len(b) {
					t.Errorf("%d bytes, %v", len(b), err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := ReadFile(dir, "f", 999); err == nil || !strings.Contains(err.Error(), "at most 999") {
		t.Error(err)
	}
	names, _ := os.ReadDir(dir.Name())
	if info, err := os.Lstat(at); err != nil || info.Mode() != 0o600 || len(names) != 1 {
		t.Error(info, err, names)
	}
}

// TestKilledWriters kills a process that writes files, a log and lines as fast
// as it can, and looks at what it left.
func TestKilledWriters(t *testing.T) {
	if at := os.Getenv("SPOOL_TEST_WRITER"); at != "" {
		writeUntilKilled(t, at)
		return
	}
	dir := place(t)
	var seen uint64
	for round := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriters$")
		cmd.Env = append(os.Environ(), "SPOOL_TEST_WRITER="+dir.Name())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said uint64
		lines := bufio.NewScanner(out)
		for i := 0; i < 50+round*37 && lines.Scan(); i++ {
			_, _ = fmt.Sscanf(lines.Text(), "seq %d", &said)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		var last uint64
		err = ReadLines(dir, "lines", 0, func(seq uint64, line []byte) error {
			if last != 0 && seq != last+1 || string(line) != fmt.Sprintf(`{"n":%d}`, seq) {
				return fmt.Errorf("line %d after %d: %s", seq, last, line)
			}
			last = seq
			return nil
		})
		if err != nil || last < said || last <= seen {
			t.Fatalf("lines up to %d, %d was said, %d before: %v", last, said, seen, err)
		}
		seen = last
		if b, err := ReadFile(dir, "f", 1<<20); err != nil || len(b) < 1000 || bytes.Count(b, b[:1]) != len(b) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
	}
	if err := WriteFile(dir, "f", []byte("last")); err != nil {
		t.Fatal(err)
	}
	names, _ := os.ReadDir(dir.Name())
	for _, e := range names {
		if strings.HasSuffix(e.Name(), "~") {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func writeUntilKilled(t *testing.T, at string) {
	dir, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	l, err := CreateLines(dir, "lines", minSize)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := 0; ; i++ {
			_ = WriteFile(dir, "f", bytes.Repeat([]byte{byte('a' + i%26)}, 1000+i%9000))
		}
	}()
	for _, err := os.Stat(filepath.Join(at, "f")); err != nil; _, err = os.Stat(filepath.Join(at, "f")) {
	}
	for {
		seq := l.Last() + 1
		if err := l.Append(seq, fmt.Appendf(nil, `{"n":%d}`, seq)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("seq", seq)
	}
}
