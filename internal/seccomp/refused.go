package seccomp

// refused holds the rules that let a call through under some options only, or
// never.
var refused = []rule{
	{
		when: never, errno: eNOSYS,
		reason: "a second way to every system call that no filter sees, and a steady source of kernel holes; libuv and others fall back on ENOSYS",
		names:  "io_uring_setup io_uring_enter io_uring_register",
	},
	{
		when: never, errno: eNOSYS,
		reason: "its flags are behind a pointer that a filter cannot read; the C libraries fall back to clone on ENOSYS",
		names:  "clone3",
	},
	{
		when: whenFull, errno: ePERM,
		reason: "mounts, by the old and the new interface: only bubblewrap and its like inside need them",
		names: `mount umount2 pivot_root move_mount open_tree open_tree_attr
			fsopen fsconfig fsmount fspick mount_setattr`,
	},
	{
		when: whenFull, errno: ePERM,
		reason: "entering a namespace of another process: nsenter and bubblewrap only",
		names:  "setns",
	},
	{
		when: whenUserns, errno: ePERM,
		reason: "needs a user namespace of one's own, as Chromium's zygote makes one",
		names:  "chroot",
	},
	{
		when: whenDebug, errno: ePERM,
		reason: "debuggers and strace; the kernel allows them among the processes of one user inside the walls",
		names:  "ptrace process_vm_readv process_vm_writev",
	},
	{
		when: never, errno: ePERM,
		reason: "takes descriptors out of a process, which SO_PEERPIDFD of a granted socket may give: one outside, where neither Landlock nor Yama says no",
		names:  "pidfd_getfd",
	},
	{
		when: never, errno: ePERM,
		reason: "programs and probes in the kernel, page faults held from user space: exploit tools before all else",
		names:  "bpf perf_event_open userfaultfd",
	},
	{
		when: never, errno: ePERM,
		reason: "keyrings are no namespace: the session keyring of the login outside is inherited, with its keys",
		names:  "add_key request_key keyctl",
	},
	{
		when: never, errno: ePERM,
		reason: "opens any file of a file system, around every path and mount",
		names:  "open_by_handle_at",
	},
	{
		when: never, errno: ePERM,
		reason: "watches whole file systems; watchers fall back to inotify, as on kernels before 5.13",
		names:  "fanotify_init fanotify_mark",
	},
	{
		when: never, errno: ePERM,
		reason: "kernel images and modules",
		names:  "kexec_load kexec_file_load init_module finit_module delete_module",
	},
	{
		when: never, errno: ePERM,
		reason: "administration of the whole machine",
		names: `quotactl quotactl_fd acct swapon swapoff reboot syslog vhangup
			settimeofday clock_settime iopl ioperm`,
	},
	{
		when: never, errno: eNOSYS,
		reason: "segment tables for 16-bit programs, with a history of kernel holes; ENOSYS as on a kernel built without it",
		names:  "modify_ldt",
	},
	{
		when: never, errno: eNOSYS,
		reason: "too new for any program to need; answered as by an older kernel",
		names:  "listns lsm_set_self_attr",
	},
	{
		when: never, errno: eNOSYS,
		reason: "removed from the kernel, never in it, or not for 64-bit programs",
		names: `uselib ustat sysfs _sysctl create_module get_kernel_syms query_module
			nfsservctl getpmsg putpmsg afs_syscall tuxcall security vserver
			epoll_ctl_old epoll_wait_old lookup_dcookie set_thread_area get_thread_area`,
	},
}
