package decide

import (
	"cmp"
	"fmt"
	"os"

	"carrel/internal/api"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// holdable refuses limits that nothing here can hold, before anything starts.
func (p *decided) holdable() error {
	if err := p.secretsHeld(); err != nil {
		return err
	}
	for _, d := range p.Policy.Devices {
		if st, err := os.Lstat(d.V); err != nil || st.Mode()&os.ModeDevice == 0 {
			return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: d.V, Rule: "devices", Source: d.Source.String(),
				Message: fmt.Sprintf("%q is not a device node here", d.V), Hint: "--device takes one like /dev/kvm; for files there are --read and --write"}
		}
	}
	r := p.Policy.Resources
	if r.Memory > 0 {
		if err := sandbox.CanLimitMemory(); err != nil {
			return p.notHeld(policy.DimMemory, err)
		}
	}
	if r.Pids > 0 && p.UID == 0 {
		if err := sandbox.CanLimitPids(); err != nil {
			return p.notHeld(policy.DimPids, err)
		}
	}
	return nil
}

// terminal is the terminal that the command has as /dev/console: its own, or the process's.
func terminal(own string) string { return cmp.Or(own, hostfacts.TerminalName()) }
