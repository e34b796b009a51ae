package session

import (
	"testing"

	"carrel/internal/broker"
	"carrel/internal/policy"
	"carrel/internal/seccomp"
)

// TestEveryTrappedCallIsHandled: what the filter traps and what the broker
// carries out are two tables, and must be one.
func TestEveryTrappedCallIsHandled(t *testing.T) {
	arch, err := seccomp.HostArch()
	if err != nil {
		t.Skip(err)
	}
	plain := make(map[uint32]seccomp.Class)
	for _, brokered := range []bool{false, true} {
		calls, err := seccomp.Calls(seccomp.Options{Arch: arch, Nesting: policy.NestedFull, Debug: true, Broker: brokered, Programs: true, Opens: brokered})
		if err != nil {
			t.Fatal(err)
		}
		trapped := 0
		for _, c := range calls {
			if !brokered {
				plain[c.Number] = c.Class
				continue
			}
			if c.Class == seccomp.Trap {
				trapped++
				if !broker.Handles(int32(c.Number)) {
					t.Errorf("%s is trapped and the broker has no handler for it", c.Name)
				}
			}
			if broker.Handles(int32(c.Number)) && c.Class == seccomp.Allow {
				t.Errorf("%s has a handler and is never trapped", c.Name)
			}
		}
		if brokered && trapped < 20 {
			t.Errorf("only %d calls are trapped", trapped)
		}
	}
}
