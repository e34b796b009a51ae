package seccomp

import (
	"fmt"
	"maps"
	"strings"

	"carrel/internal/policy"
)

// Linux errno values, the same on both architectures. They are spelled out
// because this package also compiles where syscall knows other ones.
const (
	ePERM             = 1
	eACCES            = 13
	eBUSY             = 16
	eNOSYS            = 38
	ePROTONOSUPPORT   = 93
	eSOCKTNOSUPPORT   = 94
	eOPNOTSUPP        = 95
	eAFNOSUPPORT      = 97
	actionAllow       = 0x7fff0000
	actionNotify      = 0x7fc00000
	actionErrno       = 0x00050000
	actionKillProcess = 0x80000000
)

// when says under which options a rule lets a call through.
type when uint8

const (
	always when = iota + 1
	never
	whenFull   // nesting level full
	whenUserns // nesting levels userns and full
	whenDebug  // Options.Debug
)

// rule is what happens to the system calls in names. A condition takes part
// only where the options let the call through at all.
type rule struct {
	when      when
	errno     uint16 // the answer where it is not let through
	condition condition
	trap      bool // what is let through is held for the listener; only in trapped
	reason    string
	names     string // separated by spaces and newlines
}

// outcome is a rule under given options.
type outcome struct {
	errno     uint16 // not 0: refused
	condition condition
	trap      bool
	reason    string
}

func (o outcome) class() Class {
	switch {
	case o.errno != 0:
		return Refuse
	case o.condition != noCondition:
		return Conditional
	case o.trap:
		return Trap
	}
	return Allow
}

// outcomes returns what happens to each system call that a rule names.
func (o Options) outcomes() (map[string]outcome, error) {
	switch o.Nesting {
	case policy.NestedNone, policy.NestedUserns, policy.NestedFull:
	default:
		return nil, fmt.Errorf("building a system call filter: nesting level %q, want %q, %q or %q",
			o.Nesting, policy.NestedNone, policy.NestedUserns, policy.NestedFull)
	}
	byName := make(map[string]outcome, 512)
	if err := o.add(byName, allowed, refused, conditional); err != nil {
		return nil, err
	}
	for _, more := range []struct {
		wanted bool
		table  []rule
	}{{o.Broker, trapped}, {o.Programs, programs}, {o.Alone, alone}, {o.Open, open}, {(o.Programs || o.Opens) && o.Broker, starts}} {
		if !more.wanted {
			continue
		}
		over := make(map[string]outcome, 128)
		if err := o.add(over, more.table); err != nil {
			return nil, err
		}
		maps.Copy(byName, over)
	}
	return byName, nil
}

// add puts the rules of tables under o in byName.
func (o Options) add(byName map[string]outcome, tables ...[]rule) error {
	for _, table := range tables {
		for _, r := range table {
			out := o.outcome(r)
			for name := range strings.FieldsSeq(r.names) {
				if _, twice := byName[name]; twice {
					return fmt.Errorf("classifying system calls: %q is in two rules", name)
				}
				byName[name] = out
			}
		}
	}
	return nil
}

func (o Options) outcome(r rule) outcome {
	out := outcome{reason: r.reason}
	if !o.lets(r.when) {
		out.errno = r.errno
		return out
	}
	out.trap = r.trap
	if o.applies(r.condition) {
		out.condition = r.condition
	}
	return out
}

func (o Options) lets(w when) bool {
	switch w {
	case always:
		return true
	case whenFull:
		return o.Nesting == policy.NestedFull
	case whenUserns:
		return o.Nesting == policy.NestedFull || o.Nesting == policy.NestedUserns
	case whenDebug:
		return o.Debug
	}
	return false
}

// applies says whether c holds anything back under o. At nesting level full
// clone and unshare are free, and need not be looked at but for the broker.
func (o Options) applies(c condition) bool {
	if c == cloneFlags || c == unshareFlags {
		return o.Broker || o.Nesting != policy.NestedFull
	}
	return c != noCondition
}

// traps says whether c holds calls for the listener under o, for some arguments.
func (o Options) traps(c condition) bool {
	switch c {
	case openFlags, openatFlags, accessMode, accessatMode:
		return true
	case cloneFlags, unshareFlags:
		return o.Broker && o.Nesting != policy.NestedNone
	case ioctlRequest:
		return o.Broker || o.Alone
	}
	return false
}
