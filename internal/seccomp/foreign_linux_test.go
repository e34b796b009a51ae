package seccomp

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A static program for 32-bit x86 that exits with status 42 by int 0x80.
func TestForeignArchitectureDies(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the foreign program is for 32-bit x86")
	}
	path := filepath.Join(t.TempDir(), "i386")
	if err := os.WriteFile(path, elf386(), 0o755); err != nil {
		t.Fatal(err)
	}
	err := behind(t, "", path).Run()
	var exit *exec.ExitError
	refused := errors.Is(err, unix.ENOEXEC) // by a kernel that has no such calls, so that there is nothing to refuse
	if !refused && (!errors.As(err, &exit) || exit.ExitCode() != 42) {
		t.Fatalf("without a filter the program ended with %v, want status 42", err)
	}
	for _, level := range levels {
		err := behind(t, level, path).Run()
		if refused {
			if !errors.As(err, &exit) || exit.ExitCode() == 42 {
				t.Errorf("%s: the program ended with %v where the kernel does not run it", level, err)
			}
		} else if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGSYS {
			t.Errorf("%s: the program ended with %v, want SIGSYS", level, err)
		}
	}
}

// elf386 is an ELF header, one segment at 0x8048000 and
// mov $1,%eax; mov $42,%ebx; int $0x80.
func elf386() []byte {
	code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80}
	const base, header = 0x8048000, 52 + 32
	size := uint32(header + len(code))
	b := []byte{0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	half := func(v ...uint16) {
		for _, x := range v {
			b = append(b, byte(x), byte(x>>8))
		}
	}
	word := func(v ...uint32) {
		for _, x := range v {
			half(uint16(x), uint16(x>>16))
		}
	}
	half(2, 3)                                    // executable, i386
	word(1, base+header, 52, 0, 0)                // version, entry, program headers
	half(52, 32, 1, 0, 0, 0)                      // sizes and counts
	word(1, 0, base, base, size, size, 5, 0x1000) // load, read and execute
	return append(b, code...)
}
