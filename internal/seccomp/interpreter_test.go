package seccomp

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/bpf"

	"carrel/internal/policy"
)

// data is struct seccomp_data: what a filter sees of one call.
type data struct {
	nr, arch uint32
	ip       uint64
	args     [6]uint64
}

// bytes lays d out as the kernel does on a little-endian machine.
func (d data) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, d.nr)
	b = binary.LittleEndian.AppendUint32(b, d.arch)
	b = binary.LittleEndian.AppendUint64(b, d.ip)
	for _, a := range d.args {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

// run is what the interpreter saw.
type run struct {
	action   uint32
	steps    int
	sawArgs  bool // the result depended on more than number and architecture
	executed []int
}

// interpret runs prog on d by the rules of the kernel's checker and
// interpreter: loads of aligned words within the data, jumps that stay inside.
func interpret(prog []Instruction, d data) (run, error) {
	words := d.bytes()
	var acc uint32
	var r run
	for pc := 0; pc < len(prog); {
		in := prog[pc]
		r.steps++
		r.executed = append(r.executed, pc)
		pc++
		switch in.Code {
		case opLoad:
			if in.K%4 != 0 || int(in.K)+4 > len(words) {
				return r, fmt.Errorf("instruction %d loads from %d", pc-1, in.K)
			}
			r.sawArgs = r.sawArgs || in.K >= 8
			acc = binary.LittleEndian.Uint32(words[in.K:])
		case opAnd:
			acc &= in.K
		case opJump:
			pc += int(in.K)
		case opJumpEqual:
			pc += skip(in, acc == in.K)
		case opJumpAtLeast:
			pc += skip(in, acc >= in.K)
		case opJumpAnyBit:
			pc += skip(in, acc&in.K != 0)
		case opReturn:
			r.action = in.K
			return r, nil
		default:
			return r, fmt.Errorf("instruction %d has operation %#x", pc-1, in.Code)
		}
	}
	return r, fmt.Errorf("the program ends without a return")
}

func skip(in Instruction, holds bool) int {
	if holds {
		return int(in.Jt)
	}
	return int(in.Jf)
}

// virtualMachine runs prog on d in the interpreter of x/net/bpf, an
// independent judge. It reads packets in network order, so that each word is
// turned round first.
func virtualMachine(prog []Instruction, d data) (uint32, error) {
	raw := make([]bpf.Instruction, len(prog))
	for i, in := range prog {
		raw[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble()
	}
	vm, err := bpf.NewVM(raw)
	if err != nil {
		return 0, err
	}
	packet := d.bytes()
	for i := 0; i < len(packet); i += 4 {
		binary.BigEndian.PutUint32(packet[i:], binary.LittleEndian.Uint32(packet[i:]))
	}
	action, err := vm.Run(packet)
	return uint32(action), err
}

func mustRun(t *testing.T, prog []Instruction, d data) run {
	t.Helper()
	r, err := interpret(prog, d)
	if err != nil {
		t.Fatalf("number %d: %v", d.nr, err)
	}
	return r
}

func mustBuild(t testing.TB, o Options) []Instruction {
	t.Helper()
	prog, err := Build(o)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// variants are all options that a program can be built for.
func variants() []Options {
	var all []Options
	for _, arch := range []Arch{AMD64, ARM64} {
		for _, n := range []policy.Nesting{policy.NestedNone, policy.NestedUserns, policy.NestedFull} {
			for _, debug := range []bool{false, true} {
				o := Options{Arch: arch, Nesting: n, Debug: debug}
				all = append(all, o)
				o.Broker = true
				all = append(all, o)
				o.Opens = true
				all = append(all, o)
				o.Programs = true
				all = append(all, o, Options{Arch: arch, Nesting: n, Debug: debug, Programs: true})
			}
		}
	}
	return all
}

func (o Options) String() string {
	return fmt.Sprintf("arch %d, nesting %s, debug %v, broker %v, opens %v, programs %v", o.Arch, o.Nesting, o.Debug, o.Broker, o.Opens, o.Programs)
}

// action spells a verdict for tables: 0 allows, anything else is an errno.
func action(errno uint32) uint32 {
	if errno == 0 {
		return actionAllow
	}
	return actionErrno | errno
}
