package doctor

import (
	"errors"
	"syscall"
	"time"

	"carrel/internal/advice"
	"carrel/internal/hostfacts"
)

// VMAsked is what the configuration says of backend vm: "" for what it does not say.
type VMAsked struct {
	Wanted                      bool // it names the backend, or what its machines are made of
	QEMU, Kernel, Initrd, Accel string
}

// VM is all that the checks of backend vm may ask.
type VM struct {
	Wanted     bool
	Translated bool                   // the configuration has QEMU translate
	Program    func() (string, error) // of QEMU, with its version
	Image      func() (string, error) // that machines boot from
	Probe      func() error           // says why KVM runs none
}

// VMHere is what this machine has for backend vm.
func VMHere(getenv func(string) string, asked VMAsked) *VM {
	h := &hostfacts.VM{QEMU: asked.QEMU, Kernel: asked.Kernel, Initrd: asked.Initrd, Getenv: getenv}
	return &VM{Wanted: asked.Wanted, Translated: asked.Accel == "tcg", Program: h.Program, Image: h.Image, Probe: h.Probe}
}

func (v *VM) bounded(limit time.Duration) *VM {
	b := *v
	b.Program = func() (string, error) { return answered(limit, v.Program) }
	b.Image = func() (string, error) { return answered(limit, v.Image) }
	b.Probe = func() error { return within(limit, v.Probe) }
	return &b
}

// vmChecks are those of backend vm, where the configuration gives reason to ask. None is needed: walls
// do without.
func vmChecks(p *patient) []Check {
	v := p.VM
	if v == nil || !v.Wanted {
		return nil
	}
	return []Check{
		v.found("vm-qemu", "vm: QEMU", v.Program, CauseProgram, "install QEMU: the package qemu-system-x86 of Debian"),
		v.found("vm-image", "vm: image", v.Image, CauseImage, "make one: carrel vm build-image"),
		v.accel(),
		v.found("vm-relay", "vm: carrel-relay", relayHere, CauseProgram,
			"install carrel-relay beside carrel (`make install`), with the same owner and mode"),
	}
}

// noVM is what follows from all of it.
const noVM = "backend vm starts no machine"

func (v *VM) found(id, name string, find func() (string, error), cause Cause, fix string) Check {
	c := Check{ID: id, Name: name, Status: OK}
	at, err := find()
	if c.Found = at; err == nil {
		return c
	}
	if said := (*advice.Error)(nil); errors.As(err, &said) {
		err, fix = said.Err, said.Hint
	}
	c = c.refused(Missing, err, noVM)
	return c.with(remedy{cause: cause, fix: fix})
}

func (v *VM) accel() Check {
	c := Check{ID: "vm-kvm", Name: "vm: KVM", Status: OK, Found: "it runs machines on the processor"}
	if v.Translated {
		c.Status, c.Found, c.Means = Weak, "not used: vm.accel is tcg", "QEMU translates each instruction, some 20 times slower"
		return c.with(remedy{fix: "leave vm.accel out where KVM runs machines"})
	}
	err := v.Probe()
	if err == nil {
		return c
	}
	c = c.refused(Missing, err, noVM)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		return c.with(remedy{cause: CauseKVMUser, fix: "join the group of /dev/kvm, mostly kvm, and log in again"})
	}
	return c.with(remedy{cause: CauseKVM, fix: "turn virtualization on in the firmware, or nested virtualization where this is a virtual " +
		"machine itself; or set vm.accel: tcg, with which QEMU translates"})
}
