package seccomp

import (
	"bytes"
	"testing"
)

func TestMarshalLayout(t *testing.T) {
	got := Marshal([]Instruction{{Code: 0x1234, Jt: 5, Jf: 6, K: 0x789abcde}})
	if want := []byte{0x34, 0x12, 5, 6, 0xde, 0xbc, 0x9a, 0x78}; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
