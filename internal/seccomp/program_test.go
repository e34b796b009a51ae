package seccomp

import (
	"bytes"
	"slices"
	"testing"
)

func TestProgramsCrossTheWire(t *testing.T) {
	for _, o := range variants() {
		prog := mustBuild(t, o)
		b := Marshal(prog)
		if len(b) != 8*len(prog) {
			t.Fatalf("%v: %d bytes for %d instructions", o, len(b), len(prog))
		}
		back, err := Unmarshal(b)
		if err != nil || !slices.Equal(back, prog) {
			t.Fatalf("%v: came back different, %v", o, err)
		}
	}
}

func TestMarshalLayout(t *testing.T) {
	got := Marshal([]Instruction{{Code: 0x1234, Jt: 5, Jf: 6, K: 0x789abcde}})
	if want := []byte{0x34, 0x12, 5, 6, 0xde, 0xbc, 0x9a, 0x78}; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestUnmarshalRefusesBadLengths(t *testing.T) {
	for _, n := range []int{0, 1, 7, 9, 8*MaxInstructions + 8} {
		if prog, err := Unmarshal(make([]byte, n)); err == nil || prog != nil {
			t.Errorf("%d bytes gave %d instructions, %v; want an error", n, len(prog), err)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(Marshal(mustBuild(f, variants()[0])))
	f.Add([]byte{})
	f.Add([]byte{6, 0, 0, 0, 0, 0, 0xff, 0x7f})
	f.Add(bytes.Repeat([]byte{0xff}, 15))
	f.Fuzz(func(t *testing.T, b []byte) {
		prog, err := Unmarshal(b)
		if err != nil {
			if prog != nil {
				t.Fatal("a refused input returned a program")
			}
			return
		}
		if !bytes.Equal(Marshal(prog), b) {
			t.Fatal("an accepted input came back different")
		}
	})
}
