package install

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFilterRefusesNonsense: each program is refused before or by the kernel, with a
// listener and without, and no descriptor comes of it.
func TestFilterRefusesNonsense(t *testing.T) {
	runtime.LockOSThread() // the thread ends with the test
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string][]byte{
		"empty":              nil,
		"one byte":           make([]byte, 1),
		"short by a byte":    make([]byte, 7),
		"a byte more":        make([]byte, 9),
		"too long":           make([]byte, 8*maxInstructions+8),
		"no return":          make([]byte, 8),
		"loads and does not": {0x20, 0, 0, 0, 0, 0, 0, 0},
		"jumps backwards":    {0x05, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x06, 0, 0, 0, 0, 0, 0, 0},
	} {
		for _, listen := range []bool{false, true} {
			if fd, err := Filter(program, listen); err == nil || fd != -1 {
				t.Errorf("%s, listener %v: %d, %v, want an error", name, listen, fd, err)
			}
		}
	}
}

func TestDecodeLayout(t *testing.T) {
	got, err := decode([]byte{0x34, 0x12, 5, 6, 0xde, 0xbc, 0x9a, 0x78})
	if want := []unix.SockFilter{{Code: 0x1234, Jt: 5, Jf: 6, K: 0x789abcde}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{6, 0, 0, 0, 0, 0, 0xff, 0x7f})
	f.Add(bytes.Repeat([]byte{0xff}, 15))
	f.Fuzz(func(t *testing.T, program []byte) {
		code, err := decode(program)
		if err != nil {
			if code != nil {
				t.Fatal("a refused input returned a program")
			}
			return
		}
		var back []byte
		for _, in := range code {
			back = binary.LittleEndian.AppendUint16(back, in.Code)
			back = append(back, in.Jt, in.Jf)
			back = binary.LittleEndian.AppendUint32(back, in.K)
		}
		if !bytes.Equal(back, program) {
			t.Fatal("an accepted input came back different")
		}
	})
}
