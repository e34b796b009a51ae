package broker

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestCuts: what cuts a file without opening it for writing, or can be made to, is not let go.
func TestCuts(t *testing.T) {
	const neither = 3 // access mode for ioctl only
	for _, row := range []struct {
		nr    int32
		flags uint64
		want  bool
	}{
		{unix.SYS_OPENAT, unix.O_RDONLY, false},
		{unix.SYS_OPENAT, unix.O_RDONLY | unix.O_CREAT, false},
		{unix.SYS_OPENAT, unix.O_RDONLY | unix.O_TRUNC, true},
		{unix.SYS_OPENAT, unix.O_RDONLY | unix.O_TRUNC | unix.O_CREAT | unix.O_CLOEXEC, true},
		{unix.SYS_OPENAT, unix.O_WRONLY | unix.O_TRUNC, false}, // Landlock refuses the writing
		{unix.SYS_OPENAT, unix.O_RDWR | unix.O_TRUNC, false},
		{unix.SYS_OPENAT, neither, false},
		{unix.SYS_OPENAT, neither | unix.O_TRUNC, true},
		{unix.SYS_OPENAT, unix.O_TRUNC | 1<<40, true}, // the kernel takes 32 bits
		{unix.SYS_OPENAT2, 0, true},
		{unix.SYS_TRUNCATE, 0, true},
		{unix.SYS_UNLINKAT, unix.O_TRUNC, false},
		{unix.SYS_FCHMOD, unix.O_TRUNC, false},
	} {
		c := Call{Nr: row.nr}
		c.Args[2] = row.flags
		if got := cuts(&c); got != row.want {
			t.Errorf("call %d, flags %#o: %v, want %v", row.nr, row.flags, got, row.want)
		}
	}
}
