package qemu

import (
	"errors"
	"fmt"
	"time"

	"carrel/internal/advice"
)

// Accel is what runs the instructions of a machine.
type Accel string

// AccelAuto takes KVM where that is fast, and refuses otherwise: translating is never chosen unasked.
const (
	AccelAuto Accel = "auto"
	AccelKVM  Accel = "kvm" // the processor
	AccelTCG  Accel = "tcg" // QEMU, which translates them: some 20 times slower
)

// A processor takes about a nanosecond for a round of the loop that is tried, and a kernel that
// emulates each instruction a thousand.
const (
	probeRounds = 4096
	probeMost   = 50 * time.Nanosecond // of a round
)

// errSlow says that there is KVM, and that it does not run on the processor.
var errSlow = errors.New("KVM emulates instructions here instead of running them")

// Probe says why KVM runs no machine here, nil where it does. It runs a loop by it, for some milliseconds.
func Probe() error {
	took, err := probe()
	if err != nil {
		return err
	}
	if round := took / probeRounds; round > probeMost {
		return fmt.Errorf("%w: a round of a loop takes %s", errSlow, round)
	}
	return nil
}

// Choose decides what runs a machine, by what is asked for.
func Choose(asked Accel) (Accel, error) {
	if asked != AccelAuto && asked != "" {
		return asked, nil
	}
	if err := Probe(); err != nil {
		return "", &advice.Error{Err: fmt.Errorf("no machine runs on the processor here: %w", err),
			Hint: "`carrel doctor` says what would; vm.accel: tcg, or --accel tcg, has QEMU translate, some 20 times slower"}
	}
	return AccelKVM, nil
}
