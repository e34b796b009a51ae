// Package qemu runs virtual machines of the type microvm under QEMU. A machine has a processor,
// memory and a serial device: no disk, no network card, no display and no clock of its own. All that
// it has to do with this host goes over ports of that device. Each of them is a stream of bytes, by a
// descriptor that QEMU is started with.
//
// QEMU gets no variables of the user's, starts no programs, and ends with this process. What comes
// from a machine is hostile, and bounded.
package qemu
