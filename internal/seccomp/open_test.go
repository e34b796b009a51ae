package seccomp

import (
	"slices"
	"testing"

	"carrel/internal/policy"
)

// TestOpen: without walls nothing is refused but what a broker cannot do without, and
// what no kernel of today has; what the broker has to see it sees.
func TestOpen(t *testing.T) {
	want := map[string]uint16{
		"io_uring_setup": eNOSYS, "io_uring_enter": eNOSYS, "io_uring_register": eNOSYS, "clone3": eNOSYS, "open_by_handle_at": ePERM, "userfaultfd": ePERM, "pidfd_getfd": ePERM,
		"landlock_create_ruleset": eOPNOTSUPP, "landlock_add_rule": eOPNOTSUPP, "landlock_restrict_self": eOPNOTSUPP, "listns": eNOSYS, "lsm_set_self_attr": eNOSYS,
	}
	gone := slices.IndexFunc(refused, func(r rule) bool {
		return r.errno == eNOSYS && r.reason == "removed from the kernel, never in it, or not for 64-bit programs"
	})
	if gone < 0 {
		t.Fatal("the rule for calls that there are not has another reason now")
	}
	for _, arch := range []Arch{AMD64, ARM64} {
		o := Options{Arch: arch, Nesting: policy.NestedFull, Debug: true, Broker: true}
		walled, err := Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Open = true
		calls, err := Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range calls {
			if errno, stays := want[c.Name]; c.Class == Refuse && (!stays || c.Errno != errno) && c.Reason != refused[gone].reason {
				t.Errorf("arch %d: %s is refused with errno %d: %s", arch, c.Name, c.Errno, c.Reason)
			} else if stays && c.Class != Refuse {
				t.Errorf("arch %d: %s is not refused", arch, c.Name)
			}
			if c.Traps != walled[i].Traps {
				t.Errorf("arch %d: the broker sees %s: %v, with walls %v", arch, c.Name, c.Traps, walled[i].Traps)
			}
		}
		if _, err := Build(o); err != nil {
			t.Error(err)
		}
	}
}
