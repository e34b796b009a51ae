// Package lima drives limactl, which runs Linux machines on this host and on macOS: it makes the
// template of a machine from what a policy grants, and says what limactl and a machine cannot
// hold. It starts and ends machines, and connects the relay in one to the interceptor.
//
// A template is a pure function of a [Spec] and inherits nothing: no directory of the host is
// mounted, no port is forwarded, no key and no proxy is passed. A machine knows by its environment
// for which workspace it was made, and from which template. Machines are found by that word,
// never by their names alone.
//
// What limactl says is bounded and has a deadline, and it is data. The machine is hostile: its
// commands run as a user who has no rights there, and what its kernel asks of the project
// goes to package interceptor.
package lima
