package seccomp

import (
	"testing"

	"carrel/internal/policy"
)

// held is the outcome of a row that goes to the listener, beside 0 and errnos.
const held = 1 << 16

// verdictFor is action for rows of brokerRows.
func verdictFor(outcome uint32) uint32 {
	if outcome == held {
		return actionNotify
	}
	return action(outcome)
}

// at is a row with the same outcome at each level: arguments as the numbered
// registers, and nothing but zeros (no valid pointer) in the others.
func at(call string, outcome uint32, args ...uint64) conditionRow {
	row := conditionRow{call: call, none: outcome, userns: outcome, full: outcome}
	copy(row.args[:], args)
	return row
}

const (
	openDirectory = 0o200000 | 0o40000 // both architectures' bits
	openOther     = cloexec | openDirectory | 0o4000 | 0o2000 | 0o400 | 0o1000000
)

// brokerRows hold with Options.Broker, without Opens.
var brokerRows = []conditionRow{
	at("open", 0, 0, 0),
	at("open", 0, 0, openOther), // O_CLOEXEC, O_NONBLOCK, O_APPEND, O_NOCTTY, O_NOATIME
	at("open", 0, 0, openPath|cloexec),
	at("open", 0, 0, openPath|0o100|0o2), // the kernel drops what does not go with O_PATH
	at("open", held, 0, 1),
	at("open", held, 0, 2),
	at("open", held, 0, 3), // permission to read and write, for ioctl
	at("open", held, 0, 0o100),
	at("open", held, 0, 0o100|0o200),
	at("open", held, 0, 0o1000), // O_RDONLY|O_TRUNC cuts
	at("open", held, 0, 0o20000000|openDirectory|2),
	at("open", held, 0, 0o20000000),
	at("open", held, 0, high|1),
	at("open", 0, 0, 1<<32|2<<32), // the kernel takes an int
	at("openat", 0, 3, 0, 0),
	at("openat", 0, 1, 1, openOther), // other registers do not count
	at("openat", 0, 3, 0, openPath),
	at("openat", 0, 3, 0, high|openPath|1),
	at("openat", held, 3, 0, 1),
	at("openat", held, 3, 0, 2|cloexec),
	at("openat", held, 3, 0, 3),
	at("openat", held, 3, 0, 0o100),
	at("openat", held, 3, 0, 0o1000),
	at("openat", held, 3, 0, 0o20000000),
	at("openat", held, 3, 0, high|2),
	flags("openat2", 0, eNOSYS, eNOSYS, held),
	{"openat2", [6]uint64{3, 0, 0, 24}, eNOSYS, eNOSYS, held},
	at("creat", held), at("truncate", held),

	at("mkdir", held), at("mkdirat", held), at("mknod", held), at("mknodat", held),
	at("rmdir", held), at("unlink", held), at("unlinkat", held),
	at("rename", held), at("renameat", held), at("renameat2", held),
	at("link", held), at("linkat", held), at("symlink", held), at("symlinkat", held),

	at("chmod", held), at("chmod", held, 0, 0o4755), // the broker says why not
	at("fchmod", held, 1000), at("fchmodat", held), at("fchmodat2", held), at("fchmodat", held, 0, 0, 0o4755),
	at("chown", held), at("lchown", held), at("fchown", held, 1000), at("fchownat", held),
	at("utime", held), at("utimes", held), at("futimesat", held), at("utimensat", held),
	at("setxattr", held), at("lsetxattr", held), at("fsetxattr", held), at("setxattrat", held),
	at("removexattr", held), at("lremovexattr", held), at("fremovexattr", held), at("removexattrat", held),
	at("file_setattr", held), at("file_getattr", 0),

	at("access", 0, 0, 0), at("access", 0, 0, 4), at("access", 0, 0, 5), at("access", 0, 0, 2<<32),
	at("access", held, 0, 2), at("access", held, 0, 6), at("access", held, 0, 7), at("access", held, 0, high|2),
	at("faccessat", 0, 2, 2, 4), at("faccessat", held, 0, 0, 2), at("faccessat", held, 0, 0, high|6),
	at("faccessat2", 0, 2, 2, 4, 2), at("faccessat2", held, 0, 0, 2), at("faccessat2", held, 0, 0, high|6),
	at("statfs", held), at("fstatfs", held), at("bind", held), at("umask", held, 0o22),

	{"chroot", [6]uint64{}, ePERM, held, held},
	{"setns", [6]uint64{1000}, ePERM, ePERM, held},
	flags("clone", forkFlags, 0, 0, 0),
	flags("clone", vforkFlags, 0, 0, 0),
	flags("clone", threadFlags, 0, 0, 0),
	flags("clone", goFlags, 0, 0, 0),
	flags("clone", newTime, 0, 0, 0),
	flags("clone", newUser<<32, 0, 0, 0),
	flags("clone", 17|newUser, ePERM, held, held),
	flags("clone", 17|newNS, ePERM, ePERM, held),
	flags("clone", 17|newUser|newNS, ePERM, ePERM, held),
	flags("clone", 17|newUser|newPID|newNet, ePERM, held, held),
	flags("clone", high|17|newUser, ePERM, held, held),
	flags("clone", 17|newPID, ePERM, 0, 0),
	flags("clone", 17|newNet, ePERM, 0, 0),
	flags("unshare", 0x400|0x200, 0, 0, 0),
	flags("unshare", newUser, ePERM, held, held),
	flags("unshare", newNS, ePERM, ePERM, held),
	flags("unshare", high|newUser, ePERM, held, held),
	flags("unshare", newNet, ePERM, 0, 0),
	flags("unshare", newTime, ePERM, ePERM, 0),
	flags("unshare", newTime|newUser, ePERM, ePERM, held),

	ioctl(0x5401, 0),     // TCGETS
	ioctl(0x5413, 0),     // TIOCGWINSZ
	ioctl(0x80045430, 0), // TIOCGPTN: large
	ioctl(0x80086601, 0), // FS_IOC_GETFLAGS
	ioctl(0x801c581f, 0), // FS_IOC_FSGETXATTR
	ioctl(firstTrappedRequest, 0),
	ioctl(tiocsti, ePERM), ioctl(tioclinux, ePERM), ioctl(tioccons, ePERM), ioctl(tiocsetd, ePERM),
	ioctl(high|tiocsti, ePERM),
	ioctl(0x40086602, held), ioctl(0x40046602, held), ioctl(0x401c5820, held),
	ioctl(0x40087602, held), ioctl(0x40047602, held), ioctl(0x40086604, held),
	ioctl(0x40049409, held), ioctl(0x4020940d, held), ioctl(0xc0189436, held),
	ioctl(0x40806685, held), ioctl(0x800c6613, held), ioctl(0xc028660f, held), ioctl(0x40047211, held),
	ioctl(high|0x40086602, held),
	ioctl(0x40086602<<32, 0), // request 0

	at("landlock_create_ruleset", eOPNOTSUPP), at("landlock_create_ruleset", eOPNOTSUPP, 0, 0, 1),
	at("landlock_add_rule", eOPNOTSUPP), at("landlock_restrict_self", eOPNOTSUPP, 1000),
	at("seccomp", 0, 1, 0), at("seccomp", 0, 1, 4), at("seccomp", 0, 2, 0), at("seccomp", 0, 2, 8),
	at("seccomp", eBUSY, 1, 8), at("seccomp", eBUSY, 1, 8|4|0x20), at("seccomp", eBUSY, high|1, high|8),

	at("io_uring_setup", eNOSYS), at("io_uring_enter", eNOSYS), at("clone3", eNOSYS),
	at("open_by_handle_at", ePERM), at("name_to_handle_at", 0),
	at("ftruncate", 0, 1000), at("fallocate", 0, 1000), at("write", 0, 1000), at("futex", 0, 1<<40, 1),
}

// opensRows hold instead with Options.Opens.
var opensRows = []conditionRow{
	at("open", held, 0, 0), at("open", held, 0, openOther), at("open", held, 0, 1), at("open", 0, 0, openPath),
	at("open", held, 0, openPath<<32),
	at("openat", held, 0, 0, 0), at("openat", held, 0, 0, openOther), at("openat", held, 0, 0, 0o102),
	at("openat", 0, 0, 0, openPath), at("openat", 0, 0, 0, openPath|openDirectory|cloexec),
	flags("openat2", 0, eNOSYS, eNOSYS, held), at("creat", held),
}

func rowsFor(o Options) []conditionRow {
	if !o.Broker {
		return conditionRows
	}
	over := fieldsOf(trapped)
	var rows []conditionRow
	for _, row := range conditionRows {
		if !over[row.call] {
			rows = append(rows, row)
		}
	}
	for _, row := range brokerRows {
		if o.Opens && (row.call == "open" || row.call == "openat") {
			continue
		}
		rows = append(rows, row)
	}
	if o.Opens {
		rows = append(rows, opensRows...)
	}
	return rows
}

func fieldsOf(table []rule) map[string]bool {
	names := map[string]bool{}
	for _, r := range table {
		for _, name := range fields(r.names) {
			names[name] = true
		}
	}
	return names
}

// want is the row's outcome at the level of o.
func (r conditionRow) want(o Options) uint32 {
	return map[policy.Nesting]uint32{
		policy.NestedNone: r.none, policy.NestedUserns: r.userns, policy.NestedFull: r.full,
	}[o.Nesting]
}

// Every rule of the broker must have a row with its outcome, conditions one for
// each.
func TestEveryBrokerRuleHasRows(t *testing.T) {
	outcomes := map[string]map[uint32]bool{}
	for _, row := range brokerRows {
		if outcomes[row.call] == nil {
			outcomes[row.call] = map[uint32]bool{}
		}
		outcomes[row.call][row.none] = true
		outcomes[row.call][row.full] = true
	}
	for _, r := range trapped {
		for _, name := range fields(r.names) {
			switch {
			case outcomes[name] == nil:
				t.Errorf("%s has no row", name)
			case r.condition != noCondition && !(outcomes[name][0] && len(outcomes[name]) > 1):
				t.Errorf("%s is conditional without rows for both outcomes", name)
			}
		}
	}
	for _, r := range TrappedRequests() {
		if !hasRow(r.Number) {
			t.Errorf("the request %s has no row", r.Name)
		}
		if r.Number < firstTrappedRequest {
			t.Errorf("the request %s, %#x, is below %#x", r.Name, r.Number, firstTrappedRequest)
		}
	}
}

func hasRow(request uint32) bool {
	for _, row := range brokerRows {
		if row.call == "ioctl" && row.args[1] == uint64(request) && row.none == held {
			return true
		}
	}
	return false
}

// changing is every call of the kernel that can change an object of a file
// system without a descriptor that is open for writing, by what the call does
// and not by this package's rules. fork and the like are not among them, and
// what only concerns whole file systems or devices is refused.
const changing = `
	open openat openat2 creat truncate
	mkdir mkdirat mknod mknodat rmdir unlink unlinkat rename renameat renameat2
	link linkat symlink symlinkat
	chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat
	utime utimes futimesat utimensat
	setxattr lsetxattr fsetxattr setxattrat
	removexattr lremovexattr fremovexattr removexattrat
	file_setattr bind ioctl
	open_by_handle_at io_uring_setup io_uring_enter io_uring_register
	acct swapon swapoff quotactl quotactl_fd fanotify_mark fanotify_init bpf
	nfsservctl uselib sysfs _sysctl afs_syscall security tuxcall vserver`

// granted is every call that changes a file through a descriptor that is open
// for writing, which the broker gave, or that is shared memory: they stay
// native. What is new here must be thought about.
const granted = `
	write pwrite64 writev pwritev pwritev2 ftruncate fallocate sendfile copy_file_range
	splice vmsplice tee io_submit mmap mprotect pkey_mprotect remap_file_pages mremap msync
	fsync fdatasync sync syncfs sync_file_range madvise process_madvise fadvise64 flock`

func TestNoCallChangesFilesNatively(t *testing.T) {
	for _, o := range variants() {
		if !o.Broker {
			continue
		}
		calls, err := Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		classes := map[string]Class{}
		for _, c := range calls {
			classes[c.Name] = c.Class
		}
		for _, name := range fields(changing) {
			if class, here := classes[name]; here && class == Allow {
				t.Errorf("%v: %s is native, and changes files", o, name)
			}
		}
		for _, name := range fields(granted) {
			if class, here := classes[name]; here && class != Allow {
				t.Errorf("%v: %s is %v, want it native", o, name, class)
			}
		}
		for _, name := range fields("futex read write poll ppoll epoll_pwait mmap clock_gettime sendmsg recvmsg exit fork close statx newfstatat") {
			if class, here := classes[name]; here && class != Allow {
				t.Errorf("%v: %s is %v: too frequent for the broker", o, name, class)
			}
		}
	}
}

// decided is every call that the broker's filter passes to the kernel whatever
// the arguments. A call that is new to a rule of allowed has to be put here or
// in trapped, so that nobody forgets what it does to files.
const decided = granted + `
	accept accept4 adjtimex alarm arch_prctl brk cachestat capget capset chdir clock_adjtime
	clock_getres clock_gettime clock_nanosleep close close_range connect dup dup2 dup3 epoll_create
	epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit
	exit_group fchdir fgetxattr file_getattr flistxattr fork fsconfig fsmount fsopen fspick fstat futex
	futex_requeue futex_wait futex_waitv futex_wake get_mempolicy get_robust_list getcpu getcwd getdents
	getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid
	getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid
	gettimeofday getuid getxattr getxattrat inotify_add_watch inotify_init inotify_init1
	inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup ioprio_get ioprio_set kcmp
	lgetxattr listen listmount listxattr listxattrat llistxattr lseek lsm_get_self_attr lsm_list_modules
	lstat map_shadow_stack mbind membarrier memfd_create memfd_secret migrate_pages mincore mlock mlock2
	mlockall mount mount_setattr move_mount move_pages mq_getsetattr mq_notify mq_open mq_timedreceive
	mq_timedsend mq_unlink mseal msgctl msgget msgrcv msgsnd munlock munlockall munmap name_to_handle_at
	nanosleep newfstatat open_tree open_tree_attr pause pidfd_open pipe pipe2 pivot_root
	pkey_alloc pkey_free poll ppoll prctl pread64 preadv preadv2 process_mrelease
	process_vm_readv process_vm_writev pselect6 ptrace read readahead readlink readlinkat readv recvfrom
	recvmmsg recvmsg restart_syscall rseq rseq_slice_yield rt_sigaction rt_sigpending rt_sigprocmask
	rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max
	sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
	sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
	select semctl semget semop semtimedop sendmmsg sendmsg sendto set_mempolicy set_mempolicy_home_node
	set_robust_list set_tid_address setdomainname setfsgid setfsuid setgid setgroups sethostname
	setitimer setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid shmat
	shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 stat statmount statx sysinfo tgkill time
	timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
	timerfd_gettime timerfd_settime times tkill umount2 uname uprobe uretprobe vfork wait4 waitid`

func TestEveryNativeCallIsDecidedForTheBroker(t *testing.T) {
	known := map[string]bool{}
	for _, name := range fields(decided) {
		known[name] = true
	}
	for _, o := range variants() {
		if !o.Broker {
			continue
		}
		calls, err := Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if c.Class == Allow && !known[c.Name] {
				t.Errorf("%v: %s is native with the broker: does it change files? Put it in decided or in trapped", o, c.Name)
			}
		}
	}
}

// Trapped calls exist only where there is somebody to answer them.
func TestNothingIsTrappedWithoutTheBroker(t *testing.T) {
	for _, o := range variants() {
		if o.Broker {
			continue
		}
		for i, in := range mustBuild(t, o) {
			if in.Code == opReturn && in.K == actionNotify {
				t.Fatalf("%v: instruction %d traps", o, i)
			}
		}
	}
}

func TestClassesHaveNames(t *testing.T) {
	for class, want := range map[Class]string{
		Allow: "allow", Refuse: "refuse", Conditional: "conditional", Trap: "trap", 0: "class 0",
	} {
		if got := class.String(); got != want {
			t.Errorf("class %d is %q, want %q", uint8(class), got, want)
		}
	}
}
