package sandbox

import (
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

// restAgain is a little less than the two minutes after which the runtime collects garbage by
// itself. That looks at the types of all that is there, and would leave them in memory.
const restAgain = 110 * time.Second

// ForgetStartLater lets the memory go that a supervisor's start has taken, its code and
// what it has allocated: a process that waits may not collect its garbage for hours. It is
// for one that goes on with its start and may make threads. The timer does the same again,
// for what later use has taken, and by itself while nothing else happens.
func ForgetStartLater() *time.Timer {
	timer := time.NewTimer(startAfter)
	go func() {
		for range timer.C {
			forgetStart()
			timer.Reset(restAgain)
		}
	}()
	return timer
}

func forgetStart() {
	debug.FreeOSMemory()
	ForgetStartCode()
}

// ForgetStartCode lets the memory go that the program's own code and constants of
// the start take in this process: nine of ten pages are never used again by a
// supervisor or a stage that waits. They are the file's, unchanged, and come back by
// themselves when they are needed. It never fails: at worst they stay. Under gVisor they do.
//
// The segments are found by the program headers that the kernel tells of, elf(5),
// since a stage has no file of its own to read.
func ForgetStartCode() {
	auxiliary, err := unix.Auxv()
	if err != nil || changesCode() {
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
	headers := unsafe.Slice((*programHeader)(addressed(at)), count)
	var base uint64 // what a position-independent program has been moved by
	for _, h := range headers {
		if h.kind == headersThemselves {
			base = uint64(at) - h.address
		}
	}
	for _, h := range headers {
		if h.kind == loaded && h.flags&writable == 0 {
			from := (base + h.address) &^ uint64(unix.Getpagesize()-1)
			_ = unix.Madvise(unsafe.Slice((*byte)(addressed(uintptr(from))), base+h.address+h.size-from), unix.MADV_DONTNEED)
		}
	}
}

// changesCode says whether the kernel is gVisor's, by the version that it shows for ever. It writes a jump
// over each system call in the code of a program. The pages lose that with all else that is not of the
// file, and a thread that is between the two halves of a jump meets no instruction any more.
func changesCode() bool {
	var name unix.Utsname
	return unix.Uname(&name) != nil || unix.ByteSliceToString(name.Release[:]) == "4.4.0"
}

// programHeader is Elf64_Phdr of elf(5). Package debug/elf would bring what reads debug
// information, with its tables.
type programHeader struct {
	kind, flags                                      uint32
	offset, address, physical, inFile, size, aligned uint64
}

const (
	loaded            = 1 // PT_LOAD
	headersThemselves = 6 // PT_PHDR
	writable          = 2 // PF_W
)

// addressed is memory that the kernel has mapped, and Go's allocator knows nothing of.
func addressed(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }
