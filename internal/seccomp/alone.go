package seccomp

// alone holds the rules that come before all others with Options.Alone: what a
// view, a network and a process or IPC namespace would keep apart, and Landlock
// does not see.
var alone = []rule{
	{
		when: always, condition: aloneSocket,
		reason: "a Unix socket could be connected to any that a program outside listens on; the Internet only where the network is open",
		names:  "socket",
	},
	{
		when: always, condition: aloneSocketpair,
		reason: "connected pairs stay so; a datagram socket of a pair can be sent to any name",
		names:  "socketpair",
	},
	{
		when: always, trap: true,
		reason: "mode, owner, times and attributes are changed without being opened: Landlock does not see it, and the broker does it where files may be written",
		names:  metadataCalls,
	},
	{
		when: never, errno: ePERM,
		reason: "the broker resolves paths from the host's own root",
		names:  "chroot",
	},
	{
		when: never, errno: eOPNOTSUPP,
		reason: "attributes are content, and read by name without being opened",
		names:  "getxattr lgetxattr listxattr llistxattr getxattrat listxattrat file_getattr",
	},
	{
		when: never, errno: eNOSYS,
		reason: "would tell the names of files in directories that cannot be listed; watchers fall back on looking",
		names:  "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch",
	},
	{
		when: never, errno: eNOSYS,
		reason: "shared memory, semaphores and queues of all programs of the user, the desktop's pictures among them; answered as by a kernel without",
		names: `shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
			mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`,
	},
	{
		when: always, condition: firstNone,
		reason: "limits and scheduling of other processes of the user; of oneself they are set as number 0",
		names: `prlimit64 sched_setaffinity sched_setscheduler sched_setparam sched_setattr
			move_pages migrate_pages`,
	},
	{
		when: always, condition: ownPriority,
		reason: "as above: a process group or a user is more than the workspace",
		names:  "setpriority",
	},
	{
		when: always, condition: ownIOPriority,
		reason: "as setpriority",
		names:  "ioprio_set",
	},
	{
		when: always, condition: ioctlRequest,
		reason: "trapped: attributes and clones of files, which need no descriptor open for writing; refused: TIOCSTI and TIOCLINUX type into a terminal that is shared with the outside, TIOCCONS takes the console, TIOCSETD loads line disciplines",
		names:  "ioctl",
	},
}

// aloneSocket decides the family; socket goes on from there.
func (b *builder) aloneSocket() {
	if b.options.Internet {
		b.load(argLow(0))
		local, other := b.newLabel(), b.newLabel()
		b.jumpIf(opJumpEqual, afUnix, local, next)
		b.jump(other)
		b.mark(local)
		b.ret(actionErrno | eACCES)
		b.mark(other)
		b.socket()
		return
	}
	b.ret(actionErrno | eACCES)
}

// aloneSocketpair lets pairs pass that nothing connects anew.
func (b *builder) aloneSocketpair() {
	local := b.newLabel()
	b.load(argLow(0))
	b.jumpIf(opJumpEqual, afUnix, local, next)
	b.ret(actionErrno | eAFNOSUPPORT)
	b.mark(local)
	b.load(argLow(1))
	b.and(sockTypeMask)
	b.allowOnly(eSOCKTNOSUPPORT, sockStream, sockSeqpacket)
}

// onlyZero lets a call pass where argument arg is 0.
func (b *builder) onlyZero(arg uint32) {
	b.load(argLow(arg))
	b.allowOnly(ePERM, 0)
}

// onlySelf lets a call pass for a single process that is the caller; which is the
// number that stands for single processes.
func (b *builder) onlySelf(which uint32) {
	single := b.newLabel()
	b.load(argLow(0))
	b.jumpIf(opJumpEqual, which, single, next)
	b.ret(actionErrno | ePERM)
	b.mark(single)
	b.onlyZero(1)
}

// linux/resource.h and linux/ioprio.h.
const (
	priorityProcess   = 0 // PRIO_PROCESS
	ioPriorityProcess = 1 // IOPRIO_WHO_PROCESS
)
