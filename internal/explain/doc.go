// Package explain says what a prepared workspace would hold and why: each dimension with
// the layer that decided it, mounts, file rules, hosts, what a command finds at a path, the
// compiled plan, and a refusal. An [Answer] is what is printed, as JSON as it stands and as
// text by its methods; both come from one value, so neither says more than the other.
//
// It decides nothing and starts nothing.
package explain
