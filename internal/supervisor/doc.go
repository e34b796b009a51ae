// Package supervisor serves the socket of a running workspace, by which it is seen, paused,
// stopped and asked about approvals. It is the client of that socket, too. One [Server] lives in
// the process of each run; there is no daemon.
//
// Who asks counts more than what is asked. A caller is identified by the kernel (pidfd, uid,
// namespaces): another user gets nothing, a process behind walls or in a container gets a status
// of one word. Only a person at a terminal may approve. That last one is best effort: programs
// of the same user can imitate a person, and what is checked here is what makes it hard.
//
// Everything is bounded: lines, connections, waiting approvals, events kept
// for slow readers. Stop shares no lock and no queue with anything else. What
// comes from inside is data here; callers that print it escape it. The package
// knows no policy; the run gives it what freezes
// and stops (see [Config]).
package supervisor
