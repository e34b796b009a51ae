package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func scratchLog(t *testing.T, dir string) (*AppendLog, string) {
	t.Helper()
	name := filepath.Join(dir, "log")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return NewAppendLog(f), name
}

// TestAppendLogHoldsEveryLine: across windows, and where it has to write.
func TestAppendLogHoldsEveryLine(t *testing.T) {
	for _, plain := range []bool{false, true} {
		l, name := scratchLog(t, t.TempDir())
		l.plain = plain
		var want bytes.Buffer
		for i := 0; want.Len() < 3*logWindow; i++ {
			line := fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i*i%30_000))
			want.WriteString(line)
			if err := l.Append([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		// What a killed process leaves: everything, then NULs.
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(bytes.TrimRight(got, "\x00"), want.Bytes()) {
			t.Errorf("plain %v, before the end: %d bytes, want %d, %v", plain, len(got), want.Len(), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("plain %v: %d bytes, want %d, %v", plain, len(got), want.Len(), err)
		}
	}
}

// TestAppendLogCutShort: somebody who truncates the file makes an error of
// ours, not a signal.
func TestAppendLogCutShort(t *testing.T) {
	l, name := scratchLog(t, t.TempDir())
	if err := l.Append([]byte("first\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]byte("second\n")); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestAppendLogFullDisk: nothing is said to be recorded that is not.
func TestAppendLogFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1536k"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, 0)
	l, name := scratchLog(t, dir)
	line := []byte(strings.Repeat("y", 9_999) + "\n")
	n := 0
	var err error
	for ; n < 300; n++ {
		if err = l.Append(line); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.ENOSPC) || n < 50 {
		t.Errorf("after %d lines: %v", n, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if st, err := os.Stat(name); err != nil || st.Size() != int64(n*len(line)) {
		t.Errorf("%v, %v", st.Size(), err)
	}
}

// TestAppendLogCutsOffWhatIsNoLine: where lines are written, the disk is full in
// the middle of one, and there is room again later.
func TestAppendLogCutsOffWhatIsNoLine(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	l, name := scratchLog(t, dir)
	l.plain = true
	var want bytes.Buffer
	add := func(b byte) error {
		line := append(bytes.Repeat([]byte{b}, 9_998), '\n')
		err := l.Append(line)
		if err == nil {
			want.Write(line)
		}
		return err
	}
	var err error
	for err == nil {
		err = add('x')
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]byte("end\n")); err != nil {
		t.Fatal(err)
	}
	want.WriteString("end\n")
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, want %d, %v", len(got), want.Len(), err)
	}
}
