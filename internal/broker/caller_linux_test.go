package broker

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// edge is memory that ends with a text, before a page that cannot be read.
func edge(t *testing.T, text string) (addr uint64) {
	t.Helper()
	page := unix.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	if err := unix.Mprotect(mem[2*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	at := 2*page - len(text)
	copy(mem[at:], text)
	return uint64(uintptr(unsafe.Pointer(&mem[at])))
}

// TestTwoTextsAtTheEdge: two paths are read at once, and each is all of it or EFAULT,
// wherever it ends.
func TestTwoTextsAtTheEdge(t *testing.T) {
	const here = ^uint64(99)            // AT_FDCWD
	slashes := strings.Repeat("/", 512) // more than is read of a path at first
	for _, c := range []struct {
		name, from, to string
		want           syscall.Errno
	}{
		{"whole", "/a\x00", "/b\x00", 0},
		{"first cut", "/a", "/b\x00", unix.EFAULT},
		{"second cut", "/a\x00", "/b", unix.EFAULT},
		{"long", slashes + "a\x00", slashes + "b\x00", 0},
		{"first long and cut", slashes + "a", "/b\x00", unix.EFAULT},
		{"second long and cut", "/a\x00", slashes + "b", unix.EFAULT},
		{"over a page", strings.Repeat("/", caller.PathMax-300) + "a\x00", strings.Repeat("/", caller.PathMax-400) + "b\x00", 0},
		{"too long", "/a\x00", strings.Repeat("/", caller.PathMax) + "b\x00", unix.ENAMETOOLONG},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newBench(t)
			if err := os.WriteFile(n.dir+"/a", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			a := n.raw(unix.SYS_RENAMEAT2, here, edge(t, n.dir+c.from), here, edge(t, n.dir+c.to), 0)
			if a.errno != c.want || n.exists("a") != (c.want != 0) || n.exists("b") != (c.want == 0) {
				t.Errorf("%+v, want %v; a %v, b %v", a, c.want, n.exists("a"), n.exists("b"))
			}
		})
	}
}
