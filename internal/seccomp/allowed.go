package seccomp

// allowed holds the rules that pass calls to the kernel whatever the arguments.
var allowed = []rule{
	{
		when:   always,
		reason: "files by path: the view, the mounts and Landlock decide",
		names: `access faccessat faccessat2 stat lstat newfstatat statx
			readlink readlinkat rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat
			link linkat symlink symlinkat chown lchown fchownat
			utime utimes utimensat futimesat truncate chdir getcwd statfs
			setxattr lsetxattr getxattr lgetxattr listxattr llistxattr removexattr lremovexattr
			setxattrat getxattrat listxattrat removexattrat file_getattr file_setattr
			inotify_init inotify_init1 inotify_add_watch inotify_rm_watch name_to_handle_at umask`,
	},
	{
		when:   always,
		reason: "files by descriptor: what is open was granted",
		names: `read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2
			close close_range lseek fstat fstatfs ftruncate fallocate fadvise64 readahead
			fsync fdatasync sync_file_range syncfs sync flock dup dup2 dup3
			fchdir fchown getdents getdents64
			fsetxattr fgetxattr flistxattr fremovexattr cachestat
			sendfile copy_file_range splice tee vmsplice
			io_setup io_destroy io_getevents io_pgetevents io_submit io_cancel`,
	},
	{
		when:   always,
		reason: "waiting, pipes and event descriptors",
		names: `poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait
			epoll_pwait epoll_pwait2 pipe pipe2 eventfd eventfd2 signalfd signalfd4
			timerfd_create timerfd_settime timerfd_gettime`,
	},
	{
		when:   always,
		reason: "operations on sockets: the socket itself was decided when it was made",
		names: `connect accept accept4 bind listen shutdown getsockname getpeername getsockopt
			sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg`,
	},
	{
		when:   always,
		reason: "starting, ending and signalling processes of the own pid namespace",
		names: `fork vfork execve execveat exit exit_group wait4 waitid
			tkill tgkill pidfd_open process_mrelease kcmp
			rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait
			rt_sigqueueinfo rt_tgsigqueueinfo rt_sigsuspend sigaltstack pause
			restart_syscall set_tid_address set_robust_list get_robust_list
			prctl arch_prctl seccomp landlock_create_ruleset landlock_add_rule
			landlock_restrict_self lsm_get_self_attr lsm_list_modules`,
	},
	{
		when:   always,
		reason: "called only by code that the kernel itself places for probes",
		names:  "uprobe uretprobe",
	},
	{
		when:   always,
		reason: "identity, sessions and groups: nothing maps outside the user namespace",
		names: `getpid getppid gettid getuid geteuid getgid getegid getgroups setuid setgid
			setreuid setregid setresuid setresgid getresuid getresgid setfsuid setfsgid
			setgroups setpgid getpgid getpgrp setsid getsid capget capset`,
	},
	{
		when:   always,
		reason: "scheduling and limits of the own processes",
		names: `sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler
			sched_get_priority_max sched_get_priority_min sched_rr_get_interval
			sched_setaffinity sched_getaffinity sched_setattr sched_getattr
			getpriority ioprio_get getrlimit setrlimit
			getrusage times getcpu membarrier rseq rseq_slice_yield`,
	},
	{
		when:   always,
		reason: "memory of the own process, and of others where the ptrace check allows it",
		names: `mmap mprotect munmap brk mremap msync mincore madvise process_madvise
			mlock mlock2 munlock mlockall munlockall remap_file_pages mseal map_shadow_stack
			pkey_mprotect pkey_alloc pkey_free memfd_create memfd_secret
			mbind set_mempolicy get_mempolicy set_mempolicy_home_node migrate_pages move_pages`,
	},
	{
		when:   always,
		reason: "System V and POSIX message queues, semaphores and shared memory of the own ipc namespace",
		names: `shmget shmat shmctl shmdt semget semop semctl semtimedop
			msgget msgsnd msgrcv msgctl
			mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`,
	},
	{
		when:   always,
		reason: "futexes",
		names:  "futex futex_waitv futex_wake futex_wait futex_requeue",
	},
	{
		when:   always,
		reason: "time and timers",
		names: `time gettimeofday clock_gettime clock_getres nanosleep clock_nanosleep alarm
			getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete`,
	},
	{
		when:   always,
		reason: "reading the clock's state; setting it needs a privilege in the initial user namespace, and whether it is set stands behind a pointer",
		names:  "adjtimex clock_adjtime",
	},
	{
		when:   always,
		reason: "facts about system and mounts; names of the own uts namespace",
		names:  "uname sysinfo getrandom sethostname setdomainname statmount listmount",
	},
}
