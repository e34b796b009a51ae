package doctor

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// TestVMChecks: what backend vm lacks is told with its cause and what to do, where the configuration
// asks for that backend.
func TestVMChecks(t *testing.T) {
	found := func() (string, error) { return "there", nil }
	for _, c := range []struct {
		change func(*VM)
		id     string
		status Status
		cause  Cause
	}{
		{func(*VM) {}, "vm-qemu", OK, ""},
		{func(*VM) {}, "vm-kvm", OK, ""},
		{func(v *VM) { v.Program = func() (string, error) { return "", advised("install QEMU") } }, "vm-qemu", Missing, CauseProgram},
		{func(v *VM) { v.Image = func() (string, error) { return "", errors.New("changed") } }, "vm-image", Missing, CauseImage},
		{func(v *VM) { v.Translated = true }, "vm-kvm", Weak, ""},
		{func(v *VM) { v.Probe = func() error { return errors.New("it emulates") } }, "vm-kvm", Missing, CauseKVM},
		{func(v *VM) { v.Probe = func() error { return &fs.PathError{Path: "/dev/kvm", Err: syscall.EACCES} } }, "vm-kvm", Missing, CauseKVMUser},
	} {
		v := &VM{Wanted: true, Program: found, Image: found, Probe: func() error { return nil }}
		c.change(v)
		seen := false
		for _, check := range vmChecks(&patient{Machine: &Machine{VM: v}}) {
			if check.Needed || check.Status == Missing && (check.Means == "" || check.Fix == "") {
				t.Errorf("%s: %+v", check.ID, check)
			}
			if check.ID != c.id {
				continue
			}
			if seen = true; check.Status != c.status || check.Cause != c.cause {
				t.Errorf("%+v", check)
			}
		}
		if !seen {
			t.Errorf("no check %s", c.id)
		}
		if v.Wanted = false; len(vmChecks(&patient{Machine: &Machine{VM: v}})) != 0 {
			t.Error("it is looked at where no one asks for it")
		}
	}
}
