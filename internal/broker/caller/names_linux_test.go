package caller

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestThroughProc(t *testing.T) {
	const cwd = unix.AT_FDCWD
	for _, c := range []struct {
		in   string
		fd   int32
		want string
	}{
		{"a", 7, "a"}, {"/proc/self/cwd/a", cwd, "a"}, {"/proc/thread-self/cwd//a", cwd, "a"}, {"/proc/self/root/etc/x", 7, "/etc/x"},
		{"/proc/self/fd/3/a/b", 3, "a/b"}, {"/dev/fd/3/a", 3, "a"}, {"/proc/self/fd/3", 7, "/proc/self/fd/3"}, {"/proc/self/fd/3/", 7, "/proc/self/fd/3/"},
		{"/proc/self/fd/-1/a", 7, "/proc/self/fd/-1/a"}, {"/proc/self/fd/99999999999/a", 7, "/proc/self/fd/99999999999/a"}, {"/proc/1/cwd/a", 7, "/proc/1/cwd/a"},
	} {
		if fd, got := ThroughProc(7, c.in); fd != c.fd || got != c.want {
			t.Errorf("ThroughProc(%q) = %d, %q, want %d, %q", c.in, fd, got, c.fd, c.want)
		}
	}
}

func TestDescriptor(t *testing.T) {
	for in, want := range map[string]int32{"/dev/stdin": 0, "/dev/stderr": 2, "/proc/self/fd/12": 12, "/dev/fd/3": 3} {
		if got, ok := Descriptor(in); !ok || got != want {
			t.Errorf("%q: %d %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "a", "/proc/self/fd/", "/proc/self/fd/x", "/proc/self/fd/3/a", "/proc/self/fd/4294967296"} {
		if _, ok := Descriptor(in); ok {
			t.Errorf("%q is taken for a descriptor", in)
		}
	}
}
