package seccomp

import "fmt"

// Offsets in struct seccomp_data (linux/seccomp.h), in bytes.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// argLow is the offset of the low word of argument i. The kernel takes the
// arguments that conditions look at as 32-bit values, but for pointers, so the
// high word must not be looked at: it could hide a forbidden value from the filter.
func argLow(i uint32) uint32 { return offsetArgs + 8*i }

// argHigh is that of the high word, for arguments that are pointers.
func argHigh(i uint32) uint32 { return argLow(i) + 4 }

// span is a run of numbers, from from up to the next span, with one outcome.
type span struct {
	from uint32
	verdict
}

// verdict is what a program does with a call.
type verdict struct {
	action    uint32 // a SECCOMP_RET_ value; 0 where condition decides
	condition condition
}

var unknownNumber = verdict{action: actionErrno | eNOSYS}

// spansOf folds numbers into runs of equal verdicts that cover all 32-bit
// values. Gaps, and everything above the highest number (x32 included), are
// unknown.
func spansOf(numbers []number, byName map[string]outcome) ([]span, error) {
	var spans []span
	add := func(from uint32, v verdict) {
		if len(spans) == 0 || spans[len(spans)-1].verdict != v {
			spans = append(spans, span{from, v})
		}
	}
	var free uint32 // the lowest number not seen yet
	for _, n := range numbers {
		out, ok := byName[n.name]
		if !ok {
			return nil, fmt.Errorf("building a system call filter: number %d, %q, is in no rule", n.nr, n.name)
		}
		if n.nr < free {
			return nil, fmt.Errorf("building a system call filter: number %d, %q, is out of order", n.nr, n.name)
		}
		if n.nr > free {
			add(free, unknownNumber)
		}
		add(n.nr, verdictOf(out))
		free = n.nr + 1
	}
	add(free, unknownNumber)
	return spans, nil
}

func verdictOf(o outcome) verdict {
	switch o.class() {
	case Refuse:
		return verdict{action: actionErrno | uint32(o.errno)}
	case Conditional:
		return verdict{condition: o.condition}
	case Trap:
		return verdict{action: actionNotify}
	}
	return verdict{action: actionAllow}
}

// builder writes one program.
type builder struct {
	*assembler
	options Options
	blocks  map[condition]label
}

func newBuilder(o Options) *builder {
	return &builder{assembler: newAssembler(), options: o, blocks: map[condition]label{}}
}

// prologue kills foreign architectures and loads the number.
func (b *builder) prologue(audit uint32) {
	native := b.newLabel()
	b.load(offsetArch)
	b.jumpIf(opJumpEqual, audit, native, next)
	b.ret(actionKillProcess)
	b.mark(native)
	b.load(offsetNumber)
}

// tree writes a binary search over spans with the number in the accumulator.
// Its depth is the logarithm of the table's length.
func (b *builder) tree(spans []span) {
	if len(spans) == 1 {
		b.decide(spans[0].verdict)
		return
	}
	mid := len(spans) / 2
	upper := b.newLabel()
	b.jumpIf(opJumpAtLeast, spans[mid].from, upper, next)
	b.tree(spans[:mid])
	b.mark(upper)
	b.tree(spans[mid:])
}

// decide ends the search: with an action, or at the block of a condition.
func (b *builder) decide(v verdict) {
	if v.condition == noCondition {
		b.ret(v.action)
		return
	}
	if _, ok := b.blocks[v.condition]; !ok {
		b.blocks[v.condition] = b.newLabel()
	}
	b.jump(b.blocks[v.condition])
}
