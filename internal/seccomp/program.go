package seccomp

import "encoding/binary"

// MaxInstructions is the longest program that the kernel accepts
// (BPF_MAXINSNS in linux/bpf_common.h).
const MaxInstructions = 4096

// instructionSize is the size of struct sock_filter in bytes.
const instructionSize = 8

// Instruction is one instruction of classic BPF, in the layout of struct
// sock_filter (linux/filter.h).
type Instruction struct {
	Code   uint16 // operation
	Jt, Jf uint8  // instructions to skip when a test holds, when it does not
	K      uint32 // operand
}

// Marshal returns prog as bytes for the wire: eight per instruction, little
// endian, in the order of the fields.
func Marshal(prog []Instruction) []byte {
	b := make([]byte, 0, len(prog)*instructionSize)
	for _, in := range prog {
		b = binary.LittleEndian.AppendUint16(b, in.Code)
		b = append(b, in.Jt, in.Jf)
		b = binary.LittleEndian.AppendUint32(b, in.K)
	}
	return b
}
