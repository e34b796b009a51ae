package seccomp

import "carrel/internal/policy"

// Flags of clone and unshare (linux/sched.h). Bit 7 is CLONE_NEWTIME for
// unshare and part of the exit signal for clone.
const (
	newTime       = 0x00000080
	newNS         = 0x00020000
	newCgroup     = 0x02000000
	newUTS        = 0x04000000
	newIPC        = 0x08000000
	newUser       = 0x10000000
	newPID        = 0x20000000
	newNet        = 0x40000000
	newNamespaces = newNS | newCgroup | newUTS | newIPC | newUser | newPID | newNet
)

// Requests of ioctl (asm-generic/ioctls.h). Only the low word counts in the
// kernel: 0x100005412 is TIOCSTI as well.
const (
	tiocsti   = 0x5412
	tioclinux = 0x541c
	tioccons  = 0x541d
	tiocsetd  = 0x5423
)

// setUserID is S_ISUID. Set-group-id stays: directories use it.
const setUserID = 0o4000

// memfdNoExec is MFD_NOEXEC_SEAL (linux/memfd.h).
const memfdNoExec = 0x8

// pidfdProcessGroup is PIDFD_SIGNAL_PROCESS_GROUP (linux/pidfd.h).
const pidfdProcessGroup = 1 << 2

// PRIO_PGRP (linux/resource.h) and IOPRIO_WHO_PGRP (linux/ioprio.h).
const (
	prioProcessGroup   = 1
	ioprioProcessGroup = 2
)

// rttime is RLIMIT_RTTIME (asm-generic/resource.h), in which package sandbox keeps labels.
const rttime = 15

// F_SETLEASE and F_SETDELEG (linux/fcntl.h).
const (
	setLease      = 1024
	setDelegation = 1024 + 16
)

// Values of socket and setsockopt (linux/socket.h, linux/net.h, linux/in.h).
const (
	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16

	sockTypeMask  = 0xf // the rest of type is SOCK_NONBLOCK and SOCK_CLOEXEC
	sockStream    = 1
	sockDgram     = 2
	sockRaw       = 3
	sockSeqpacket = 5

	protoAny    = 0
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58

	netlinkRoute = 0

	solIP   = 0
	solIPv6 = 41
	// The tables of iptables, arptables, ebtables and IPVS start at 64, and no
	// IP_ option of sockets is as high. IPv6 has socket options from 66 on, so
	// only ip6tables' two are named: IP6T_SO_SET_REPLACE, _ADD_COUNTERS.
	firstTableOption = 64
	ip6tReplace      = 64
	ip6tAddCounters  = 65
)

// The values of personality that pass (linux/personality.h): the query, and
// combinations of PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT,
// ADDR_LIMIT_32BIT and ADDR_LIMIT_3GB.
const (
	personaQuery    = 0xffffffff
	personaHarmless = 0x8 | 0x0020000 | 0x0040000 | 0x0200000 | 0x0800000 | 0x8000000
)

// conditions writes the blocks that the search jumps to.
func (b *builder) conditions() {
	blocks := []struct {
		condition condition
		write     func()
	}{
		{leaseCommand, func() { b.refuseValues(1, setLease, setDelegation) }},
		{cloneFlags, func() { b.namespaces(b.forbidden()) }},
		{unshareFlags, func() { b.namespaces(b.forbiddenUnshare()) }},
		{ioctlRequest, b.ioctl},
		{socketKind, b.socket},
		{sockoptName, b.setsockopt},
		{personaValue, b.personality},
		{chmodMode, func() { b.refuseBits(1, setUserID) }},
		{chmodatMode, func() { b.refuseBits(2, setUserID) }},
		{openMode, func() { b.openMode(1) }},
		{openatMode, func() { b.openMode(2) }},
		{killTarget, b.kill},
		{pidfdFlags, b.pidfdSendSignal},
		{priorityOfWhom, func() { b.refuseValues(0, prioProcessGroup) }},
		{ioPriorityOfWhom, func() { b.refuseValues(0, ioprioProcessGroup) }},
		{limitOfWhom, b.prlimit},
		{memfdFlags, b.memfd},
		{aloneSocket, b.aloneSocket},
		{aloneSocketpair, b.aloneSocketpair},
		{firstNone, func() { b.onlyZero(0) }},
		{ownPriority, func() { b.onlySelf(priorityProcess) }},
		{ownIOPriority, func() { b.onlySelf(ioPriorityProcess) }},
		{openFlags, func() { b.open(1) }},
		{openatFlags, func() { b.open(2) }},
		{accessMode, func() { b.trapBits(1, writeOK) }},
		{accessatMode, func() { b.trapBits(2, writeOK) }},
		{seccompFlags, b.seccomp},
	}
	for _, block := range blocks {
		if l, used := b.blocks[block.condition]; used {
			b.mark(l)
			block.write()
		}
	}
}

// kill lets any target pass but the caller's process group.
func (b *builder) kill() {
	if !b.options.NoGroupSignals {
		b.ret(actionAllow)
		return
	}
	b.refuseValues(0, 0)
}

func (b *builder) pidfdSendSignal() {
	if !b.options.NoGroupSignals {
		b.ret(actionAllow)
		return
	}
	b.refuseBits(3, pidfdProcessGroup)
}

// prlimit lets limits be read, and set but for two. Without those of process 1 nothing
// is started any more, and a hard limit is not raised again. A thread of it has another
// number that stands for the same limits, so the one with the labels is set by the
// caller for itself only, as number 0.
func (b *builder) prlimit() {
	sets, refuse, allow := b.newLabel(), b.newLabel(), b.newLabel()
	b.load(argLow(2))
	b.jumpIf(opJumpEqual, 0, next, sets)
	b.load(argHigh(2)) // a pointer counts with both words
	b.jumpIf(opJumpEqual, 0, allow, next)
	b.mark(sets)
	b.load(argLow(0))
	b.jumpIf(opJumpEqual, 0, allow, next)
	b.jumpIf(opJumpEqual, 1, refuse, next)
	b.load(argLow(1))
	b.jumpIf(opJumpEqual, rttime, refuse, next)
	b.mark(allow)
	b.ret(actionAllow)
	b.mark(refuse)
	b.ret(actionErrno | ePERM)
}

// openMode looks at the mode, which follows the flags, where a file may be made;
// elsewhere it is whatever the register held.
func (b *builder) openMode(flags uint32) {
	makes := b.newLabel()
	b.load(argLow(flags))
	b.jumpIf(opJumpAnyBit, openMakes, makes, next)
	b.ret(actionAllow)
	b.mark(makes)
	b.refuseBits(flags+1, setUserID)
}

// memfd lets only files pass that can never be started.
func (b *builder) memfd() {
	sealed := b.newLabel()
	b.load(argLow(1))
	b.jumpIf(opJumpAnyBit, memfdNoExec, sealed, next)
	b.ret(actionErrno | eACCES)
	b.mark(sealed)
	b.ret(actionAllow)
}

// namespaces decides the flags of clone and unshare.
func (b *builder) namespaces(forbidden uint32) {
	if !b.options.Broker {
		b.refuseBits(0, forbidden)
		return
	}
	refuse := b.newLabel()
	b.load(argLow(0))
	if forbidden != 0 {
		b.jumpIf(opJumpAnyBit, forbidden, refuse, next)
	}
	if told := brokerNamespaces &^ forbidden; told != 0 {
		b.trapUnlessClear(told)
	} else {
		b.ret(actionAllow)
	}
	if forbidden != 0 {
		b.mark(refuse)
		b.ret(actionErrno | ePERM)
	}
}

// ioctl refuses requests to terminals. The broker's are all above them, so
// that the frequent small ones pass after few tests.
func (b *builder) ioctl() {
	terminal := []uint32{tiocsti, tioclinux, tioccons, tiocsetd}
	if !b.options.Broker && !b.options.Alone {
		b.refuseValues(1, terminal...)
		return
	}
	large, trap := b.newLabel(), b.newLabel()
	b.load(argLow(1))
	b.jumpIf(opJumpAtLeast, firstTrappedRequest, large, next)
	b.refuseLoaded(terminal...)
	b.mark(large)
	for _, r := range trappedRequests {
		b.jumpIf(opJumpEqual, r.Number, trap, next)
	}
	b.ret(actionAllow)
	b.mark(trap)
	b.ret(actionNotify)
}

// forbiddenUnshare adds time namespaces, which clone cannot make.
func (b *builder) forbiddenUnshare() uint32 {
	if b.options.Nesting == policy.NestedFull {
		return 0
	}
	return b.forbidden() | newTime
}

// forbidden returns the namespaces that the nesting level does not give.
func (b *builder) forbidden() uint32 {
	switch b.options.Nesting {
	case policy.NestedFull:
		return 0
	case policy.NestedUserns:
		return newNS
	}
	return newNamespaces
}

// refuseBits answers EPERM when a bit of mask is set in argument arg.
func (b *builder) refuseBits(arg, mask uint32) {
	b.load(argLow(arg))
	b.allowUnless(opJumpAnyBit, mask, ePERM)
}

// refuseValues answers EPERM when argument arg is one of values.
func (b *builder) refuseValues(arg uint32, values ...uint32) {
	b.load(argLow(arg))
	b.refuseLoaded(values...)
}

// refuseLoaded is refuseValues for what the accumulator holds.
func (b *builder) refuseLoaded(values ...uint32) {
	refuse := b.newLabel()
	for _, v := range values {
		b.jumpIf(opJumpEqual, v, refuse, next)
	}
	b.ret(actionAllow)
	b.mark(refuse)
	b.ret(actionErrno | ePERM)
}

// allowUnless ends the program: errno when the test holds, else allow.
func (b *builder) allowUnless(op uint16, k, errno uint32) {
	refuse := b.newLabel()
	b.jumpIf(op, k, refuse, next)
	b.ret(actionAllow)
	b.mark(refuse)
	b.ret(actionErrno | errno)
}

// allowOnly ends the program: allow when the accumulator is one of values,
// else errno.
func (b *builder) allowOnly(errno uint32, values ...uint32) {
	allow := b.newLabel()
	for _, v := range values {
		b.jumpIf(opJumpEqual, v, allow, next)
	}
	b.ret(actionErrno | errno)
	b.mark(allow)
	b.ret(actionAllow)
}

// socket decides family, type and protocol, for socket and socketpair alike.
// Lists name what passes: AF_INET alone knows SOCK_PACKET, SCTP, DCCP, MPTCP,
// SMC and L2TP besides what programs use.
func (b *builder) socket() {
	internet, netlink, local := b.newLabel(), b.newLabel(), b.newLabel()
	b.load(argLow(0))
	b.jumpIf(opJumpEqual, afUnix, local, next)
	b.jumpIf(opJumpEqual, afInet, internet, next)
	b.jumpIf(opJumpEqual, afInet6, internet, next)
	b.jumpIf(opJumpEqual, afNetlink, netlink, next)
	b.ret(actionErrno | eAFNOSUPPORT)
	b.mark(local)
	b.ret(actionAllow)

	b.mark(netlink)
	b.load(argLow(2))
	b.allowOnly(ePROTONOSUPPORT, netlinkRoute)

	b.mark(internet)
	stream, dgram, raw := b.newLabel(), b.newLabel(), b.newLabel()
	b.load(argLow(1))
	b.and(sockTypeMask)
	b.jumpIf(opJumpEqual, sockStream, stream, next)
	b.jumpIf(opJumpEqual, sockDgram, dgram, next)
	b.jumpIf(opJumpEqual, sockRaw, raw, next)
	b.ret(actionErrno | eSOCKTNOSUPPORT)
	b.mark(raw)
	b.ret(actionErrno | ePERM)
	b.mark(stream)
	b.load(argLow(2))
	b.allowOnly(ePROTONOSUPPORT, protoAny, protoTCP)
	b.mark(dgram)
	b.load(argLow(2))
	b.allowOnly(ePROTONOSUPPORT, protoAny, protoUDP, protoICMP, protoICMPv6)
}

func (b *builder) setsockopt() {
	v4, v6 := b.newLabel(), b.newLabel()
	b.load(argLow(1))
	b.jumpIf(opJumpEqual, solIP, v4, next)
	b.jumpIf(opJumpEqual, solIPv6, v6, next)
	b.ret(actionAllow)
	b.mark(v4)
	b.load(argLow(2))
	b.allowUnless(opJumpAtLeast, firstTableOption, ePERM)
	b.mark(v6)
	b.refuseValues(2, ip6tReplace, ip6tAddCounters)
}

func (b *builder) personality() {
	query := b.newLabel()
	b.load(argLow(0))
	b.jumpIf(opJumpEqual, personaQuery, query, next)
	b.allowUnless(opJumpAnyBit, 0xffffffff&^personaHarmless, ePERM)
	b.mark(query)
	b.ret(actionAllow)
}
