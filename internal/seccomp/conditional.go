package seccomp

// condition names a test of arguments; conditions.go writes them.
type condition uint8

const (
	noCondition condition = iota
	cloneFlags
	unshareFlags
	ioctlRequest
	socketKind
	sockoptName
	personaValue
	killTarget
	pidfdFlags
	priorityOfWhom
	ioPriorityOfWhom
	leaseCommand
	chmodMode
	chmodatMode
	memfdFlags
	openMode
	openatMode
	limitOfWhom
	aloneSocket // this and what follows only with Options.Alone
	aloneSocketpair
	firstNone
	ownPriority
	ownIOPriority
	openFlags // this and what follows only with Options.Broker
	openatFlags
	accessMode
	accessatMode
	seccompFlags
)

// programs holds the rules that come before all others with Options.Programs,
// starts those that come before them with a broker as well.
var (
	programs = []rule{{
		when: always, condition: memfdFlags,
		reason: "EACCES without MFD_NOEXEC_SEAL, as with vm.memfd_noexec=2: a program in memory has no path that could be allowed or not",
		names:  "memfd_create",
	}}
	starts = []rule{{
		when: always, trap: true,
		reason: "looked at: one that may not be read is refused, as far as the kernel reads the same path again; else it goes on, and Landlock decides",
		names:  "execve execveat",
	}}
)

// conditional holds the rules that look at arguments.
var conditional = []rule{
	{
		when: always, condition: chmodMode,
		reason: "a set-user-id file in the project would be one outside too",
		names:  "chmod fchmod",
	},
	{
		when: always, condition: chmodatMode,
		reason: "as chmod",
		names:  "fchmodat fchmodat2",
	},
	{
		when: always, condition: openMode,
		reason: "files by path: the view, the mounts and Landlock decide; a file is not made set-user-id, as with chmod",
		names:  "open",
	},
	{
		when: always, condition: openatMode,
		reason: "as open",
		names:  "openat",
	},
	{
		when: whenFull, errno: eNOSYS,
		reason: "its mode is behind a pointer: it could make a set-user-id file; programs fall back to openat, but for carrel inside carrel, which is for level full",
		names:  "openat2",
	},
	{
		when: always, condition: chmodMode,
		reason: "makes files: not set-user-id, as with chmod; device nodes need a privilege in the initial user namespace",
		names:  "creat mknod",
	},
	{
		when: always, condition: chmodatMode,
		reason: "as mknod",
		names:  "mknodat",
	},
	{
		when: always, condition: killTarget,
		reason: "kill(0) reaches the whole process group, which is the caller's outside; refused where no Landlock scope stops it",
		names:  "kill",
	},
	{
		when: always, condition: pidfdFlags,
		reason: "PIDFD_SIGNAL_PROCESS_GROUP is kill(0) by another door",
		names:  "pidfd_send_signal",
	},
	{
		when: always, condition: priorityOfWhom,
		reason: "refused for process groups: the caller's own has processes outside, which would be slowed down; no other process can be named that is not inside",
		names:  "setpriority",
	},
	{
		when: always, condition: ioPriorityOfWhom,
		reason: "as setpriority",
		names:  "ioprio_set",
	},
	{
		when: always, condition: limitOfWhom,
		reason: "limits of processes inside; not of number 1, which starts the others, and of no other process RLIMIT_RTTIME, by which those are told apart",
		names:  "prlimit64",
	},
	{
		when: always, condition: leaseCommand,
		reason: "files by descriptor: what is open was granted; but for a lease, also of a file to be read, programs outside wait that open it to write",
		names:  "fcntl",
	},
	{
		when: always, condition: cloneFlags,
		reason: "new namespaces by nesting level: none has none, userns all but mount namespaces, full all",
		names:  "clone",
	},
	{
		when: always, condition: unshareFlags,
		reason: "as clone; time namespaces only at level full",
		names:  "unshare",
	},
	{
		when: always, condition: ioctlRequest,
		reason: "TIOCSTI and TIOCLINUX type into a terminal that is shared with the outside, TIOCCONS takes the console, TIOCSETD loads line disciplines",
		names:  "ioctl",
	},
	{
		when: always, condition: socketKind,
		reason: "Unix, TCP, UDP, ping and NETLINK_ROUTE sockets; other families and protocols are kernel surface, raw sockets forge packets",
		names:  "socket socketpair",
	},
	{
		when: always, condition: sockoptName,
		reason: "packet filter tables are replaced through options of level SOL_IP and SOL_IPV6",
		names:  "setsockopt",
	},
	{
		when: always, condition: personaValue,
		reason: "setarch and debuggers switch address layout and the reported machine; READ_IMPLIES_EXEC and MMAP_PAGE_ZERO weaken every program that follows",
		names:  "personality",
	},
}
