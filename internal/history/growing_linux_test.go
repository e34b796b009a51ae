package history

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
)

// TestCopyGrowsAsItIsWritten shows that a copy never is longer than what was written to
// it: its length tells a copy that a loss of power has cut off.
func TestCopyGrowsAsItIsWritten(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	from, to := open("from"), open("to")
	const size, last = 4 << 20, 3 << 20
	for _, at := range []int64{1 << 20, last} { // with holes before, between and after
		if _, err := from.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := from.Truncate(size); err != nil {
		t.Fatal(err)
	}
	length := func() int64 {
		st, err := to.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	copies := 0
	disk.Trial = func(call string) error {
		if call == "copy" {
			if copies++; length() > last {
				t.Errorf("before piece %d the copy has %d bytes", copies, length())
			}
		}
		return nil
	}
	defer func() { disk.Trial = nil }()
	if err := disk.CopyHoles(int(from.Fd()), int(to.Fd()), size); err != nil || copies == 0 || length() != size {
		t.Errorf("%d pieces, %d bytes, %v", copies, length(), err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(to.Fd()), &st); err != nil || st.Blocks*512 > 1<<20 {
		t.Errorf("%d blocks, %v", st.Blocks, err)
	}
	for _, at := range []int64{0, 1 << 20, last, size - 4} {
		var was, is [4]byte
		from.ReadAt(was[:], at)
		if to.ReadAt(is[:], at); is != was {
			t.Errorf("at %d: %q, want %q", at, is, was)
		}
	}
}
