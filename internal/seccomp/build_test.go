package seccomp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/policy"
)

func auditOf(t testing.TB, o Options) uint32 {
	t.Helper()
	_, audit, err := o.arch()
	if err != nil {
		t.Fatal(err)
	}
	return audit
}

// Every number must do what its class says whatever its arguments are, and an
// allowed one must be decided without looking at them.
func TestEachNumberFollowsItsClass(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, o := range variants() {
		prog, audit := mustBuild(t, o), auditOf(t, o)
		calls, err := Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if c.Reason == "" {
				t.Errorf("%v: %s has no reason", o, c.Name)
			}
			if c.Class == Conditional {
				continue
			}
			for range 4 {
				r := mustRun(t, prog, data{nr: c.Number, arch: audit, args: randomArgs(random)})
				want := action(uint32(c.Errno))
				if c.Class == Trap {
					want = actionNotify
				}
				if r.action != want {
					t.Fatalf("%v: %s gives %#x, want %#x", o, c.Name, r.action, want)
				}
				if r.sawArgs {
					t.Errorf("%v: %s looks at arguments, so the kernel cannot cache it", o, c.Name)
				}
			}
		}
	}
}

// TestTrapsIsWhatTheProgramDoes: of each call, some argument of one bit, or a
// request of ioctl, shows whether it is ever held.
func TestTrapsIsWhatTheProgramDoes(t *testing.T) {
	values := []uint64{0}
	for bit := range 32 {
		values = append(values, 1<<bit)
	}
	for _, r := range trappedRequests {
		values = append(values, uint64(r.Number))
	}
	all := variants()
	for _, arch := range []Arch{AMD64, ARM64} {
		for _, broker := range []bool{false, true} {
			all = append(all, Options{Arch: arch, Nesting: policy.NestedNone, Broker: broker, Alone: true, Internet: broker})
		}
		all = append(all, Options{Arch: arch, Nesting: policy.NestedFull, Broker: true, Open: true})
	}
	for _, o := range all {
		calls, err := Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		prog := mustBuild(t, o)
		for _, c := range calls {
			held := false
			for _, v := range values {
				for arg := range 3 {
					d := data{nr: c.Number, arch: auditOf(t, o)}
					d.args[arg] = v
					held = held || mustRun(t, prog, d).action == actionNotify
				}
			}
			if held != c.Traps {
				t.Errorf("%v: %s is held: %v, the table says %v", o, c.Name, held, c.Traps)
			}
		}
	}
}

func randomArgs(r *rand.Rand) (args [6]uint64) {
	for i := range args {
		args[i] = r.Uint64()
	}
	return args
}

func TestUnknownNumbersAnswerENOSYS(t *testing.T) {
	for _, o := range variants() {
		prog, audit := mustBuild(t, o), auditOf(t, o)
		known := map[uint32]bool{}
		calls, _ := Calls(o)
		for _, c := range calls {
			known[c.Number] = true
		}
		numbers := []uint32{4095, 4096, 0x3fffffff, 0x40000000, 0x40000000 + 59, 0x40000000 + 520, 0x7fffffff, 0x80000000, 0xffffffff}
		for nr := range uint32(1200) {
			numbers = append(numbers, nr)
		}
		for _, nr := range numbers {
			if known[nr] {
				continue
			}
			if r := mustRun(t, prog, data{nr: nr, arch: audit}); r.action != action(eNOSYS) {
				t.Errorf("%v: number %#x gives %#x, want ENOSYS", o, nr, r.action)
			}
		}
	}
}

func TestForeignArchitecturesAreKilled(t *testing.T) {
	const i386, arm, riscv64 = 0x40000003, 0x40000028, 0xc00000f3
	for _, o := range variants() {
		prog, audit := mustBuild(t, o), auditOf(t, o)
		for _, arch := range []uint32{0, i386, arm, riscv64, auditAMD64, auditARM64, audit | 1, 0xffffffff} {
			if arch == audit {
				continue
			}
			for _, nr := range []uint32{0, 1, 39, 60, 172, 231, 1000} {
				if r := mustRun(t, prog, data{nr: nr, arch: arch}); r.action != actionKillProcess {
					t.Errorf("%v: architecture %#x, number %d gives %#x, want a kill", o, arch, nr, r.action)
				}
			}
		}
	}
}

// The two interpreters must agree on everything, and the program must never
// answer anything but its few actions.
func TestInterpretersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := variants()
		o := all[rapid.IntRange(0, len(all)-1).Draw(t, "options")]
		prog, err := Build(o)
		if err != nil {
			t.Fatal(err)
		}
		_, audit, _ := o.arch()
		word := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64(),
			rapid.Map(rapid.IntRange(0, 63), func(b int) uint64 { return 1 << b }))
		d := data{
			nr:   rapid.OneOf(rapid.Uint32Range(0, 500), rapid.Uint32()).Draw(t, "nr"),
			arch: rapid.SampledFrom([]uint32{audit, audit, audit, auditAMD64, auditARM64}).Draw(t, "arch"),
		}
		for i := range d.args {
			d.args[i] = word.Draw(t, fmt.Sprint("arg", i))
		}
		got, err := interpret(prog, d)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := virtualMachine(prog, d); err != nil || got.action != want {
			t.Fatalf("got %#x, x/net/bpf says %#x, %v", got.action, want, err)
		}
		errnos := []uint32{ePERM, eNOSYS, ePROTONOSUPPORT, eSOCKTNOSUPPORT, eAFNOSUPPORT}
		if o.Broker {
			errnos = append(errnos, eBUSY, eOPNOTSUPP)
		}
		if o.Programs {
			errnos = append(errnos, eACCES) // of memory files that could be started
		}
		known := got.action == actionAllow || o.Broker && got.action == actionNotify || got.action == actionKillProcess ||
			got.action&^0xffff == actionErrno && slices.Contains(errnos, got.action&0xffff)
		if !known {
			t.Fatalf("unexpected action %#x", got.action)
		}
	})
}

// Every instruction of a program must be reachable: dead code would be a rule
// that does not hold.
func TestNoDeadInstructions(t *testing.T) {
	for _, o := range variants() {
		prog, audit := mustBuild(t, o), auditOf(t, o)
		reached := map[int]bool{}
		visit := func(d data) {
			for _, pc := range mustRun(t, prog, d).executed {
				reached[pc] = true
			}
		}
		visit(data{arch: audit ^ 1})
		for nr := range uint32(600) {
			visit(data{nr: nr, arch: audit})
		}
		for _, nr := range numbersOf(t, o, "memfd_create") {
			visit(data{nr: nr, arch: audit, args: [6]uint64{1, memfdNoExec}})
		}
		for _, row := range rowsFor(o) {
			for _, nr := range numbersOf(t, o, row.call) {
				visit(data{nr: nr, arch: audit, args: row.args})
			}
		}
		for pc := range prog {
			if !reached[pc] {
				t.Errorf("%v: instruction %d of %d is never reached: %+v", o, pc, len(prog), prog[pc])
			}
		}
	}
}

// Older kernels run the program for each call, so the way to a verdict has to
// be short.
func TestWayToAVerdictIsShort(t *testing.T) {
	for _, o := range variants() {
		prog, audit := mustBuild(t, o), auditOf(t, o)
		calls, _ := Calls(o)
		longest := 0
		for _, c := range calls {
			longest = max(longest, mustRun(t, prog, data{nr: c.Number, arch: audit}).steps)
		}
		t.Logf("%v: %d instructions, at most %d for a verdict", o, len(prog), longest)
		if longest > 24 {
			t.Errorf("%v: %d instructions for a verdict, want at most 24", o, longest)
		}
	}
}

func TestBuildRefusesUnknownOptions(t *testing.T) {
	for _, o := range []Options{
		{},
		{Arch: AMD64},
		{Arch: AMD64, Nesting: "all"},
		{Nesting: policy.NestedNone},
		{Arch: ARM64 + 1, Nesting: policy.NestedNone},
	} {
		if prog, err := Build(o); err == nil || prog != nil {
			t.Errorf("Build(%+v) gave %d instructions, %v; want an error", o, len(prog), err)
		}
		if calls, err := Calls(o); err == nil || calls != nil {
			t.Errorf("Calls(%+v) gave %d calls, %v; want an error", o, len(calls), err)
		}
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	for _, o := range variants() {
		if !slices.Equal(mustBuild(t, o), mustBuild(t, o)) {
			t.Errorf("%v: two programs differ", o)
		}
	}
}

func TestAssemblerRefusesBadJumps(t *testing.T) {
	far := newAssembler()
	l := far.newLabel()
	far.jumpIf(opJumpEqual, 1, l, next)
	for range 256 {
		far.ret(actionAllow)
	}
	far.mark(l)
	far.ret(actionAllow)
	if _, err := far.finish(); err == nil {
		t.Error("a conditional jump over 256 instructions was accepted")
	}

	open := newAssembler()
	open.jump(open.newLabel())
	open.ret(actionAllow)
	if _, err := open.finish(); err == nil {
		t.Error("a jump to a label that was never placed was accepted")
	}
}

func BenchmarkBuild(b *testing.B) {
	o := Options{Arch: AMD64, Nesting: policy.NestedUserns, Debug: true}
	for b.Loop() {
		mustBuild(b, o)
	}
}
