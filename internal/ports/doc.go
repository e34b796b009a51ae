// Package ports carries TCP connections between two loopbacks, the host's and a
// workspace's. There is no process in between: both ends are descriptors of this
// one, and each connection is dialled when it comes, so that a server may start
// later and be restarted.
//
//   - [Forward] is a port of the host that programs inside reach: accepted inside,
//     dialled outside.
//   - [Publish] is a port inside that programs outside reach: accepted outside,
//     dialled inside. Only this user and root are let in, and what a browser sends
//     must be meant for this machine: a page of another site may point its own
//     name here (DNS rebinding), and says that name in the request.
//   - [Sockets] asks the kernel whose a socket is.
//
// The package decides nothing of a policy and imports nothing of this module. Who
// listens and who dials is given to it.
package ports
