package seccomp

// open holds the rules that come before all others with Options.Open: what is refused
// elsewhere to keep a workspace apart from what is around it. What stays refused would
// go around the broker, or hold it up.
var open = []rule{
	{
		when:   always,
		reason: "without walls the kernel decides what a user may do",
		names: `bpf perf_event_open add_key request_key keyctl fanotify_init fanotify_mark
			kexec_load kexec_file_load init_module finit_module delete_module
			quotactl quotactl_fd acct swapon swapoff reboot syslog vhangup
			settimeofday clock_settime iopl ioperm modify_ldt
			kill pidfd_send_signal setpriority ioprio_set socket socketpair setsockopt personality`,
	},
}
