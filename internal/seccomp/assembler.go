package seccomp

import "fmt"

// The operations that the programs use (linux/bpf_common.h). Only these, with
// loads of number and architecture, are understood by the kernel when it
// computes which numbers are always allowed.
const (
	opLoad        = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opAnd         = 0x54 // BPF_ALU | BPF_AND | BPF_K
	opJump        = 0x05 // BPF_JMP | BPF_JA
	opJumpEqual   = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	opJumpAtLeast = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	opJumpAnyBit  = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	opReturn      = 0x06 // BPF_RET | BPF_K
)

// label names a place in the program; next is the instruction that follows.
type label int

const next label = 0

// assembler collects instructions and resolves labels. All jumps go forward,
// as classic BPF demands.
type assembler struct {
	code   []Instruction
	places []int // by label; -1 while unknown
	fixes  []fix
}

// fix is a jump whose targets were unknown when it was written.
type fix struct {
	at      int
	yes, no label
}

func newAssembler() *assembler {
	return &assembler{
		code:   make([]Instruction, 0, 512),
		places: []int{-1}, // label 0 is next
	}
}

func (a *assembler) newLabel() label {
	a.places = append(a.places, -1)
	return label(len(a.places) - 1)
}

// mark puts l at the next instruction.
func (a *assembler) mark(l label) { a.places[l] = len(a.code) }

// load puts the 32-bit word at offset of struct seccomp_data in the accumulator.
func (a *assembler) load(offset uint32) { a.emit(opLoad, offset) }

// and masks the accumulator.
func (a *assembler) and(mask uint32) { a.emit(opAnd, mask) }

// ret ends the program with a SECCOMP_RET_ value.
func (a *assembler) ret(action uint32) { a.emit(opReturn, action) }

// jump goes to l, at any distance.
func (a *assembler) jump(l label) {
	a.fixes = append(a.fixes, fix{at: len(a.code), yes: l})
	a.emit(opJump, 0)
}

// jumpIf compares the accumulator with k and goes to yes or no; both must be
// at most 255 instructions away.
func (a *assembler) jumpIf(op uint16, k uint32, yes, no label) {
	a.fixes = append(a.fixes, fix{at: len(a.code), yes: yes, no: no})
	a.emit(op, k)
}

func (a *assembler) emit(op uint16, k uint32) {
	a.code = append(a.code, Instruction{Code: op, K: k})
}

// finish resolves the jumps and returns the program.
func (a *assembler) finish() ([]Instruction, error) {
	for _, f := range a.fixes {
		yes, err := a.distance(f.at, f.yes)
		if err != nil {
			return nil, err
		}
		no, err := a.distance(f.at, f.no)
		if err != nil {
			return nil, err
		}
		in := &a.code[f.at]
		if in.Code == opJump {
			in.K = uint32(yes)
			continue
		}
		if yes > 255 || no > 255 {
			return nil, fmt.Errorf("assembling a filter program: instruction %d jumps by %d and %d, want at most 255", f.at, yes, no)
		}
		in.Jt, in.Jf = uint8(yes), uint8(no)
	}
	if len(a.code) > MaxInstructions {
		return nil, fmt.Errorf("assembling a filter program: %d instructions, want at most %d", len(a.code), MaxInstructions)
	}
	return a.code, nil
}

// distance counts the instructions between the jump at at and its target.
func (a *assembler) distance(at int, l label) (int, error) {
	if l == next {
		return 0, nil
	}
	if d := a.places[l] - at - 1; d >= 0 {
		return d, nil
	}
	return 0, fmt.Errorf("assembling a filter program: instruction %d has no target ahead of it", at)
}
