package caller

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMemoryByFile: where a filter around us refuses process_vm_readv(2), /proc has the same
// bytes, to the end of what is mapped, and nothing of an address that is no caller's.
func TestMemoryByFile(t *testing.T) {
	page, err := unix.Mmap(-1, 0, 2*PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(page) }()
	copy(page[PageSize-4:], "name")
	at := uint64(uintptr(unsafe.Pointer(&page[PageSize-4])))
	m := &Memory{tid: uint32(os.Getpid())}
	buf := make([]byte, 256)
	if n, err := m.readFile(at, buf); err != nil || string(buf[:n]) != "name" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	for _, addr := range []uint64{0, 1 << 63, 1<<64 - 1} {
		if n, err := m.readFile(addr, buf); err == nil && n > 0 {
			t.Errorf("%x: %d bytes", addr, n)
		}
	}
	m.tid = 1 << 30
	if _, err := m.readFile(at, buf); err != ErrHidden {
		t.Error(err)
	}
}
