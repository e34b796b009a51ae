package session

import (
	"testing"

	"carrel/internal/broker"
	"carrel/internal/policy"
	"carrel/internal/seccomp"
)

// filterOptions are those that package decide builds filters with where a broker answers
// what they hold.
func filterOptions(arch seccomp.Arch) []seccomp.Options {
	base := seccomp.Options{Arch: arch, Debug: true, Broker: true}
	var all []seccomp.Options
	for _, nesting := range []policy.Nesting{policy.NestedNone, policy.NestedUserns, policy.NestedFull} {
		for _, programs := range []bool{false, true} {
			for _, opens := range []bool{false, true} {
				o := base
				o.Nesting, o.Programs, o.Opens = nesting, programs, opens
				all = append(all, o)
			}
		}
	}
	for _, internet := range []bool{false, true} {
		o := base
		o.Nesting, o.Alone, o.Internet = policy.NestedNone, true, internet
		all = append(all, o)
		o.Broker = false // modes, owners and times are held all the same
		all = append(all, o)
	}
	o := base
	o.Nesting, o.Open = policy.NestedFull, true
	return append(all, o)
}

// TestEveryTrappedCallIsHandled: what the filter holds, always or for some arguments, and
// what the broker carries out are two tables, and must be one. A call without a handler
// answers ENOSYS; a handler of a call that no filter holds is never reached.
func TestEveryTrappedCallIsHandled(t *testing.T) {
	arch, err := seccomp.HostArch()
	if err != nil {
		t.Skip(err)
	}
	trapped := make(map[int32]bool)
	for _, o := range filterOptions(arch) {
		calls, err := seccomp.Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if !c.Traps {
				continue
			}
			trapped[int32(c.Number)] = true
			if !broker.Handles(int32(c.Number)) {
				t.Errorf("%+v: %s is trapped and the broker has no handler for it", o, c.Name)
			}
		}
	}
	for number := range int32(1 << 12) {
		if broker.Handles(number) && !trapped[number] {
			t.Errorf("call %d has a handler and is never trapped", number)
		}
	}
	if len(trapped) < 30 {
		t.Errorf("only %d calls are trapped", len(trapped))
	}
}

// TestPlainFiltersTrapNothing: without a broker there is no listener, and what a filter
// holds would answer ENOSYS.
func TestPlainFiltersTrapNothing(t *testing.T) {
	arch, err := seccomp.HostArch()
	if err != nil {
		t.Skip(err)
	}
	for _, o := range filterOptions(arch) {
		if o.Broker = false; o.Alone || o.Open {
			continue
		}
		calls, err := seccomp.Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if c.Traps {
				t.Errorf("%+v: %s is trapped", o, c.Name)
			}
		}
	}
}
