package hostfacts

import (
	"context"

	"carrel/internal/qemu"
)

// VM is what this machine has for backend vm: QEMU, by its path or in PATH where that is "", and what
// machines boot from.
type VM struct {
	QEMU, Kernel, Initrd string
	Getenv               func(string) string
}

// Program names QEMU, with its version.
func (v *VM) Program() (string, error) {
	p, err := qemu.Find(context.Background(), v.QEMU, v.Getenv)
	if err != nil {
		return "", err
	}
	return "QEMU " + p.Version + ": " + p.Path, nil
}

// Image names what machines boot from.
func (v *VM) Image() (string, error) {
	i, err := qemu.Boot(v.Kernel, v.Initrd, v.Getenv)
	if err != nil {
		return "", err
	}
	return i.Digest(), nil
}

// Probe says why KVM runs no machine here, nil where it does.
func (v *VM) Probe() error { return qemu.Probe() }
