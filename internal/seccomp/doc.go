// Package seccomp builds the system call filter that every process behind the
// walls carries; package install puts it on a thread. The namespaces decide what can be reached;
// the filter takes away the kernel interfaces that nothing inside needs and
// that have been the way out of namespaces before.
//
// Its words:
//
//   - A rule says what happens to a set of system calls, with the reason. Every
//     number of the kernel headers is in exactly one rule; a number that no
//     rule knows answers ENOSYS, as on a kernel that is too old for it.
//   - A condition is a rule that looks at arguments: flags of clone and
//     unshare, the request of ioctl, family, type and protocol of socket, level
//     and name of setsockopt, the value of personality.
//   - A program is the rules compiled to classic BPF for one architecture.
//   - A trapped call waits for an answer from outside (Options.Broker): an
//     errno, a result, a descriptor, or word that the kernel shall go on.
//   - A listener is where trapped calls arrive and are answered. It belongs to
//     one program, which install.Filter put on a thread; everything that the
//     thread starts is trapped there.
//
// What the rules rest on:
//
//   - The errno is the one that the same call gives where a kernel or a user lacks the
//     thing. Programs have a path for that: ENOSYS for io_uring and clone3 (libuv and the
//     C libraries fall back on it), EAFNOSUPPORT and EPROTONOSUPPORT for sockets, EPERM
//     for privileges.
//   - Sockets are cut by family, type and netlink protocol, never by
//     operation: socketpairs, event loops and loopback servers work unchanged.
//     The rules are the same in every network mode.
//   - A foreign architecture is killed. Its numbers mean other calls, and an
//     errno would not reach the program: its exit call is refused as well, so
//     it would run on in a broken state. x32 has the same architecture with bit
//     30 in the number; it answers ENOSYS, as a kernel without x32 does.
//   - Numbers that are always allowed are decided from architecture and number alone. So
//     Linux 5.11 and later answer them from a bitmap without running the program.
//
// What trapping rests on:
//
//   - The files that the broker guards are on a mount that is read-only for
//     the callers. A call that no rule traps fails there with EROFS, so that a
//     gap in the rules is a fault, not a hole; only what works on a descriptor
//     that the broker granted has to be complete.
//   - Letting a trapped call continue is never a permission: the kernel reads
//     the caller's memory again.
//   - What is decided by registers is decided in the program: opens for
//     reading never leave the kernel unless Options.Opens asks for it.
//   - Received calls can be killed but not interrupted (WAIT_KILLABLE_RECV), or
//     a signal would have them carried out twice.
//   - Every receiver that waits is woken for every call since Linux 6.6: one
//     that waits is best, a few are good, many are slow. See
//     BenchmarkReceivers.
//
// Limits. A filter sees numbers, not memory: paths, socket addresses and
// structures behind pointers are invisible to it. Calls that write only with
// a privilege in the initial user namespace (adjtimex, mknod of devices) are
// left to the kernel. At nesting level userns, a process that makes a network
// namespace of its own can configure it through NETLINK_ROUTE, traffic control
// included; limiting the number of such namespaces is the caller's part.
//
// This package imports policy for the nesting levels and no other package of
// this module.
package seccomp

//go:generate go run gen.go
