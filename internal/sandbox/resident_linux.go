package sandbox

import (
	"debug/elf"
	"runtime/debug"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startAfter is when a supervisor that is still there has done its start.
const startAfter = 500 * time.Millisecond

// RestAfter is for how long a workspace is not used before its supervisor lets go of what
// that took. The next use takes up to a millisecond for it.
const RestAfter = 10 * time.Second

// ForgetStartLater lets the memory go that a supervisor's start has taken, its code and
// what it has allocated: a process that waits may not collect its garbage for hours. It is
// for one that goes on with its start and may make threads. The timer does the same again,
// for what later use has taken.
func ForgetStartLater() *time.Timer { return time.AfterFunc(startAfter, forgetStart) }

func forgetStart() {
	debug.FreeOSMemory()
	ForgetStartCode()
}

// ForgetStartCode lets the memory go that the program's own code and constants of
// the start take in this process: nine of ten pages are never used again by a
// supervisor or a stage that waits. They are the file's, unchanged, and come back by
// themselves when they are needed. It never fails: at worst they stay.
//
// The segments are found by the program headers that the kernel tells of, elf(5),
// since a stage has no file of its own to read.
func ForgetStartCode() {
	auxiliary, err := unix.Auxv()
	if err != nil {
		return
	}
	const atHeaders, atCount = 3, 5 // AT_PHDR and AT_PHNUM, linux/auxvec.h
	var at, count uintptr
	for _, v := range auxiliary {
		switch v[0] {
		case atHeaders:
			at = v[1]
		case atCount:
			count = v[1]
		}
	}
	if at == 0 || unsafe.Sizeof(at) != 8 { // the headers of 32 bits are others
		return
	}
	headers := unsafe.Slice((*elf.Prog64)(addressed(at)), count)
	var base uint64 // what a position-independent program has been moved by
	for _, h := range headers {
		if elf.ProgType(h.Type) == elf.PT_PHDR {
			base = uint64(at) - h.Vaddr
		}
	}
	for _, h := range headers {
		if elf.ProgType(h.Type) == elf.PT_LOAD && elf.ProgFlag(h.Flags)&elf.PF_W == 0 {
			from := (base + h.Vaddr) &^ uint64(unix.Getpagesize()-1)
			_ = unix.Madvise(unsafe.Slice((*byte)(addressed(uintptr(from))), base+h.Vaddr+h.Memsz-from), unix.MADV_DONTNEED)
		}
	}
}

// addressed is memory that the kernel has mapped, and Go's allocator knows nothing of.
func addressed(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }
