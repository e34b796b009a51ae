package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Isolation is what keeps the programs of a workspace from this machine.
// Widening order: vm < kernel < container < process < none.
type Isolation string

const (
	IsolationVM        Isolation = "vm"        // a virtual machine
	IsolationKernel    Isolation = "kernel"    // a kernel of its own, which is a program of this machine
	IsolationContainer Isolation = "container" // walls of this machine's kernel, with a system of their own
	IsolationProcess   Isolation = "process"   // walls of this machine's kernel
	IsolationNone      Isolation = "none"
)

// Isolations are those that can be demanded, in widening order.
var Isolations = []string{string(IsolationVM), string(IsolationKernel), string(IsolationProcess)}

// Isolation is what the backend gives.
func (b Backend) Isolation() Isolation {
	switch b {
	case BackendVM, BackendLima:
		return IsolationVM
	case BackendGvisor:
		return IsolationKernel
	case BackendContainer:
		return IsolationContainer
	case BackendNone:
		return IsolationNone
	}
	return IsolationProcess
}

func isolationRank(i Isolation) int {
	return rankOf(i, IsolationVM, IsolationKernel, IsolationContainer, IsolationProcess, IsolationNone)
}

// isolated decides what is demanded. A backend that nothing names gives it; one that is named and
// gives less is refused.
func isolated(d *decision, c choice[Backend]) choice[Backend] {
	wider := byRank(isolationRank)
	demand := settle(d, dimension[Isolation]{
		name: DimIsolation, initial: IsolationNone, wider: wider,
		known: func(i Isolation) bool { return i == IsolationNone || slices.Contains(Isolations, string(i)) },
		text:  func(i Isolation) string { return string(i) },
		asked: func(r *Request) *Value[Isolation] { return r.Isolation },
		bound: func(c *Ceiling) *Value[Isolation] { return c.Isolation },
	})
	note := ""
	if demand.V != IsolationNone {
		note = fmt.Sprintf("%s is demanded by %s", demand.V, demand.Source)
	}
	if wider(c.V.Isolation(), demand.V) {
		if c.Source != builtIn {
			tooWeak(&d.findings, c.Value, demand)
			return c
		}
		least := Value[Backend]{V: leastBackend(demand.V), Source: demand.Source}
		c = choice[Backend]{Value: least, note: "isolation " + string(demand.V), limited: demand.limited}
	}
	d.reason(DimIsolation, string(c.V.Isolation()), c.Source, note)
	return c
}

// tooWeak refuses a backend that gives less than is demanded.
func tooWeak(d *findings, b Value[Backend], demand choice[Isolation]) {
	var enough []string
	for _, other := range []Backend{BackendGvisor, BackendVM, BackendLima} {
		if isolationRank(other.Isolation()) <= isolationRank(demand.V) {
			enough = append(enough, string(other))
		}
	}
	right := strings.Join(enough, " or ")
	if demand.limited {
		d.refuse(DimBackend, b.Source, demand.Source, string(b.V), right+", by isolation "+string(demand.V))
		return
	}
	d.errs = append(d.errs, &RequestError{Dimension: DimBackend, Source: b.Source,
		Message: fmt.Sprintf("backend %s is weaker than isolation %s (%s)", b.V, demand.V, demand.Source),
		Hint:    "choose backend " + right + ", or leave one of them out"})
}

// leastBackend is the one that runs a workspace where an isolation is demanded and no backend named.
func leastBackend(i Isolation) Backend {
	switch i {
	case IsolationVM:
		return BackendVM
	case IsolationKernel:
		return BackendGvisor
	}
	return BackendProcess
}
