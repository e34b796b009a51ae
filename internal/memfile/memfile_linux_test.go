package memfile

import (
	"io"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSealed: the content is read from the beginning. It cannot be changed by the descriptor,
// nor by opening the file anew.
func TestSealed(t *testing.T) {
	f, err := Sealed("name", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "content" {
		t.Errorf("%q, %v", text, err)
	}
	again, err := os.OpenFile("/proc/self/fd/"+itoa(f), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, of := range []*os.File{f, again} {
		if _, err := of.WriteAt([]byte("x"), 0); err == nil {
			t.Error("it can be written to")
		}
		if err := of.Truncate(1); err == nil {
			t.Error("it can be cut")
		}
		if err := of.Truncate(100); err == nil {
			t.Error("it can grow")
		}
	}
	if _, err := unix.Mmap(int(f.Fd()), 0, 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("it can be mapped for writing")
	}
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("what is started has it: %v %v", flags, err)
	}
	if is, err := IsSealed(int(f.Fd())); !is || err != nil {
		t.Errorf("sealed: %v, %v", is, err)
	}
}

func TestIsSealed(t *testing.T) {
	f, err := New("name")
	if err != nil {
		t.Fatal(err)
	}
	fd := int(f.Fd())
	if is, err := IsSealed(fd); is || err != nil {
		t.Errorf("a new one: %v, %v", is, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if is, err := IsSealed(int(r.Fd())); is || err != nil {
		t.Errorf("a pipe: %v, %v", is, err)
	}
	f.Close()
	if is, err := IsSealed(fd); is || err != unix.EBADF {
		t.Errorf("none: %v, %v", is, err)
	}
}

// TestRead: bounded, from the beginning, and never of what would be waited for.
func TestRead(t *testing.T) {
	f, err := New("name")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("content"); err != nil { // which leaves it at the end
		t.Fatal(err)
	}
	if text, err := Read(f, 7); err != nil || string(text) != "content" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(f, 6); err == nil {
		t.Error("more than was asked for is read")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := Read(r, 7); err == nil {
		t.Error("a pipe is read")
	}
}

func itoa(f *os.File) string { return strconv.Itoa(int(f.Fd())) }
