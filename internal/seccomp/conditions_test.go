package seccomp

import (
	"testing"

	"carrel/internal/policy"
)

// conditionRow is one call with arguments and its errno (0: allowed) at the
// levels none, userns and full.
type conditionRow struct {
	call               string
	args               [6]uint64
	none, userns, full uint32
}

func flags(call string, bits uint64, none, userns, full uint32) conditionRow {
	return conditionRow{call, [6]uint64{bits}, none, userns, full}
}

func ioctl(request uint64, errno uint32) conditionRow {
	return conditionRow{"ioctl", [6]uint64{0, request}, errno, errno, errno}
}

func socket(family, kind, protocol uint64, errno uint32) conditionRow {
	return conditionRow{"socket", [6]uint64{family, kind, protocol}, errno, errno, errno}
}

func sockopt(level, name uint64, errno uint32) conditionRow {
	return conditionRow{"setsockopt", [6]uint64{3, level, name}, errno, errno, errno}
}

func persona(value uint64, errno uint32) conditionRow {
	return conditionRow{"personality", [6]uint64{value}, errno, errno, errno}
}

const (
	high    = 1 << 32 // a bit that the kernel does not look at
	cloexec = 0o2000000
)

// forkFlags, vforkFlags and threadFlags are what C libraries and Go pass.
const (
	forkFlags   = 0x01200011
	vforkFlags  = 0x00004111
	threadFlags = 0x003d0f00
	goFlags     = 0x00050f00
)

var conditionRows = []conditionRow{
	{"chmod", [6]uint64{0, 0o755}, 0, 0, 0},
	{"chmod", [6]uint64{0, 0o2755}, 0, 0, 0},
	{"chmod", [6]uint64{0, 0o4755}, ePERM, ePERM, ePERM},
	{"fchmod", [6]uint64{3, 0o644}, 0, 0, 0},
	{"fchmod", [6]uint64{3, high | 0o6755}, ePERM, ePERM, ePERM},
	{"fchmodat", [6]uint64{3, 0, 0o644}, 0, 0, 0},
	{"fchmodat", [6]uint64{3, 0, 0o4711}, ePERM, ePERM, ePERM},
	{"fchmodat2", [6]uint64{3, 0, 0o644, 0x100}, 0, 0, 0},
	{"fchmodat2", [6]uint64{3, 0, 0o4711, 0x100}, ePERM, ePERM, ePERM},
	{"setpriority", [6]uint64{0, 0, 5}, 0, 0, 0},
	{"setpriority", [6]uint64{2, 1000, 5}, 0, 0, 0},
	{"setpriority", [6]uint64{1, 0, 5}, ePERM, ePERM, ePERM},
	{"setpriority", [6]uint64{high | 1, 12, 5}, ePERM, ePERM, ePERM},
	{"ioprio_set", [6]uint64{1, 0, 3 << 13}, 0, 0, 0},
	{"ioprio_set", [6]uint64{3, 0, 3 << 13}, 0, 0, 0},
	{"ioprio_set", [6]uint64{2, 0, 3 << 13}, ePERM, ePERM, ePERM},
	{"ioprio_set", [6]uint64{high | 2, 0, 3 << 13}, ePERM, ePERM, ePERM},
	{"prlimit64", [6]uint64{1, 15}, 0, 0, 0}, // read
	{"prlimit64", [6]uint64{12, 15}, 0, 0, 0},
	{"prlimit64", [6]uint64{0, 15, 0x1000}, 0, 0, 0},
	{"prlimit64", [6]uint64{high, 15, 0x1000}, 0, 0, 0},
	{"prlimit64", [6]uint64{12, 7, 0x1000}, 0, 0, 0},
	{"prlimit64", [6]uint64{12, 7, high}, 0, 0, 0},
	{"prlimit64", [6]uint64{1, 15, 0x1000}, ePERM, ePERM, ePERM},
	{"prlimit64", [6]uint64{1, 7, high}, ePERM, ePERM, ePERM}, // the pointer's low word is 0
	{"prlimit64", [6]uint64{high | 1, 7, 0x1000}, ePERM, ePERM, ePERM},
	{"prlimit64", [6]uint64{12, 15, high}, ePERM, ePERM, ePERM}, // a thread of number 1, perhaps
	{"prlimit64", [6]uint64{12, high | 15, 0x1000}, ePERM, ePERM, ePERM},
	{"creat", [6]uint64{0, 0o644}, 0, 0, 0},
	{"creat", [6]uint64{0, 0o4755}, ePERM, ePERM, ePERM},
	{"mknod", [6]uint64{0, 0o010600}, 0, 0, 0},
	{"mknod", [6]uint64{0, 0o104755}, ePERM, ePERM, ePERM},
	{"mknodat", [6]uint64{3, 0, 0o100600}, 0, 0, 0},
	{"mknodat", [6]uint64{3, 0, high | 0o106755}, ePERM, ePERM, ePERM},
	{"open", [6]uint64{0, 0, 0o4755}, 0, 0, 0}, // not made: the mode is no argument
	{"open", [6]uint64{0, 0o101, 0o2755}, 0, 0, 0},
	{"open", [6]uint64{0, 0o101, 0o4755}, ePERM, ePERM, ePERM},
	{"openat", [6]uint64{3, 0, 0o2, 0o4755}, 0, 0, 0},
	{"openat", [6]uint64{3, 0, 0o200000, 0o4755}, 0, 0, 0}, // O_DIRECTORY
	{"openat", [6]uint64{3, 0, 0o102, 0o666}, 0, 0, 0},
	{"openat", [6]uint64{3, 0, high | 0o102, high | 0o6755}, ePERM, ePERM, ePERM},
	{"openat", [6]uint64{3, 0, 0o20200002, 0o4600}, ePERM, ePERM, ePERM}, // O_TMPFILE
	{"fcntl", [6]uint64{3, 4, 0x800}, 0, 0, 0},
	{"fcntl", [6]uint64{3, 1030}, 0, 0, 0}, // F_DUPFD_CLOEXEC
	{"fcntl", [6]uint64{3, 1025}, 0, 0, 0}, // F_GETLEASE
	{"fcntl", [6]uint64{3, 1024, 1}, ePERM, ePERM, ePERM},
	{"fcntl", [6]uint64{3, high | 1024, 0}, ePERM, ePERM, ePERM},
	{"fcntl", [6]uint64{3, 1040, 0}, ePERM, ePERM, ePERM},
	flags("clone", forkFlags, 0, 0, 0),
	flags("clone", vforkFlags, 0, 0, 0),
	flags("clone", threadFlags, 0, 0, 0),
	flags("clone", goFlags, 0, 0, 0),
	flags("clone", newTime, 0, 0, 0), // a signal number, not a namespace
	flags("clone", 17|newUser, ePERM, 0, 0),
	flags("clone", 17|newPID, ePERM, 0, 0),
	flags("clone", 17|newNet, ePERM, 0, 0),
	flags("clone", 17|newIPC, ePERM, 0, 0),
	flags("clone", 17|newUTS, ePERM, 0, 0),
	flags("clone", 17|newCgroup, ePERM, 0, 0),
	flags("clone", 17|newUser|newPID|newNet, ePERM, 0, 0), // Chromium, Firefox
	flags("clone", 17|newNS, ePERM, ePERM, 0),
	flags("clone", 17|newUser|newNS, ePERM, ePERM, 0), // bubblewrap
	flags("clone", high|17|newUser, ePERM, 0, 0),
	flags("clone", high|17|newNS, ePERM, ePERM, 0),
	flags("clone", newUser<<32, 0, 0, 0), // the kernel drops the high word

	flags("unshare", 0x400|0x200, 0, 0, 0), // CLONE_FILES, CLONE_FS
	flags("unshare", newUser, ePERM, 0, 0),
	flags("unshare", newUser|newPID|newNet|newIPC|newUTS|newCgroup, ePERM, 0, 0),
	flags("unshare", newNS, ePERM, ePERM, 0),
	flags("unshare", newUser|newNS, ePERM, ePERM, 0),
	flags("unshare", newTime, ePERM, ePERM, 0),
	flags("unshare", high|newNS, ePERM, ePERM, 0),

	ioctl(0x5401, 0),     // TCGETS
	ioctl(0x5410, 0),     // TIOCSPGRP, job control
	ioctl(0x540e, 0),     // TIOCSCTTY
	ioctl(0x5413, 0),     // TIOCGWINSZ
	ioctl(0x5414, 0),     // TIOCSWINSZ
	ioctl(0x541b, 0),     // FIONREAD
	ioctl(0x5421, 0),     // FIONBIO
	ioctl(0x5424, 0),     // TIOCGETD
	ioctl(0x40049409, 0), // FICLONE
	ioctl(tiocsti, ePERM),
	ioctl(tioclinux, ePERM),
	ioctl(tioccons, ePERM),
	ioctl(tiocsetd, ePERM),
	ioctl(high|tiocsti, ePERM),
	ioctl(0xdeadbeef00000000|tioclinux, ePERM),
	ioctl(tiocsti<<32, 0), // request 0

	socket(afUnix, sockStream, 0, 0),
	socket(afUnix, sockDgram|cloexec, 0, 0),
	socket(afUnix, sockRaw, 0, 0), // the kernel makes a datagram socket of it
	socket(afUnix, 5, 0, 0),       // SOCK_SEQPACKET
	socket(high|afUnix, sockStream, 0, 0),
	socket(afInet, sockStream, 0, 0),
	socket(afInet, sockStream|cloexec|0x800, protoTCP, 0),
	socket(afInet, sockDgram, protoUDP, 0),
	socket(afInet, sockDgram, protoICMP, 0),
	socket(afInet6, sockStream, 0, 0),
	socket(afInet6, sockStream, protoTCP, 0),
	socket(afInet6, sockDgram, 0, 0),
	socket(afInet6, sockDgram, protoICMPv6, 0),
	socket(afInet, sockStream, 262, ePROTONOSUPPORT), // MPTCP
	socket(afInet6, sockStream, 262, ePROTONOSUPPORT),
	socket(afInet, sockStream, high|262, ePROTONOSUPPORT),
	socket(afInet, sockStream, 132, ePROTONOSUPPORT), // SCTP
	socket(afInet, sockStream, 256, ePROTONOSUPPORT), // SMC
	socket(afInet, sockDgram, 115, ePROTONOSUPPORT),  // L2TP
	socket(afInet, sockDgram, 136, ePROTONOSUPPORT),  // UDP-Lite
	socket(afInet, sockStream, protoUDP, ePROTONOSUPPORT),
	socket(afInet, sockRaw, 1, ePERM),
	socket(afInet, sockRaw|cloexec, 255, ePERM),
	socket(afInet6, sockRaw, 58, ePERM),
	socket(afInet, high|sockRaw, 1, ePERM),
	socket(high|afInet, sockRaw, 1, ePERM),
	socket(afInet, 5, 132, eSOCKTNOSUPPORT), // SCTP by SOCK_SEQPACKET
	socket(afInet, 6, 33, eSOCKTNOSUPPORT),  // DCCP
	socket(afInet, 10, 3, eSOCKTNOSUPPORT),  // SOCK_PACKET becomes AF_PACKET
	socket(afNetlink, sockRaw|cloexec, 0, 0),
	socket(afNetlink, sockDgram, high, 0),                // NETLINK_ROUTE to the kernel
	socket(afNetlink, sockRaw, 4, ePROTONOSUPPORT),       // SOCK_DIAG
	socket(afNetlink, sockRaw, 6, ePROTONOSUPPORT),       // XFRM
	socket(afNetlink, sockRaw, 9, ePROTONOSUPPORT),       // AUDIT
	socket(afNetlink, sockRaw, 12, ePROTONOSUPPORT),      // NETFILTER
	socket(afNetlink, sockRaw, 15, ePROTONOSUPPORT),      // KOBJECT_UEVENT
	socket(afNetlink, sockRaw, 16, ePROTONOSUPPORT),      // GENERIC
	socket(afNetlink, sockRaw, high|12, ePROTONOSUPPORT), // NETFILTER
	socket(0, sockStream, 0, eAFNOSUPPORT),
	socket(3, sockDgram, 0, eAFNOSUPPORT),        // AF_AX25
	socket(15, sockRaw, 2, eAFNOSUPPORT),         // AF_KEY
	socket(17, sockRaw, 0, eAFNOSUPPORT),         // AF_PACKET
	socket(21, sockDgram, 0, eAFNOSUPPORT),       // AF_RDS
	socket(29, sockRaw, 0, eAFNOSUPPORT),         // AF_CAN
	socket(30, sockStream, 0, eAFNOSUPPORT),      // AF_TIPC
	socket(31, sockStream, 0, eAFNOSUPPORT),      // AF_BLUETOOTH
	socket(38, 5, 0, eAFNOSUPPORT),               // AF_ALG
	socket(40, sockStream, 0, eAFNOSUPPORT),      // AF_VSOCK
	socket(high|40, sockStream, 0, eAFNOSUPPORT), // AF_VSOCK
	socket(44, sockRaw, 0, eAFNOSUPPORT),         // AF_XDP
	socket(0xffffffff, sockStream, 0, eAFNOSUPPORT),

	{"socketpair", [6]uint64{afUnix, sockStream}, 0, 0, 0},
	{"socketpair", [6]uint64{afUnix, sockDgram | cloexec}, 0, 0, 0},
	{"socketpair", [6]uint64{30, sockStream}, eAFNOSUPPORT, eAFNOSUPPORT, eAFNOSUPPORT},

	sockopt(1, 2, 0),     // SO_REUSEADDR
	sockopt(1, 64, 0),    // SO_... of SOL_SOCKET at 64
	sockopt(6, 1, 0),     // TCP_NODELAY
	sockopt(solIP, 1, 0), // IP_TOS
	sockopt(solIP, 52, 0),
	sockopt(solIP, 63, 0),
	sockopt(solIP, 64, ePERM), // IPT_SO_SET_REPLACE
	sockopt(solIP, 65, ePERM),
	sockopt(solIP, 96, ePERM),   // ARPT_SO_SET_REPLACE
	sockopt(solIP, 128, ePERM),  // EBT_SO_SET_ENTRIES
	sockopt(solIP, 1154, ePERM), // IP_VS_SO_SET_ADD
	sockopt(high|solIP, 64, ePERM),
	sockopt(solIP, high|64, ePERM),
	sockopt(solIPv6, 26, 0), // IPV6_V6ONLY
	sockopt(solIPv6, 63, 0),
	sockopt(solIPv6, 64, ePERM), // IP6T_SO_SET_REPLACE
	sockopt(solIPv6, 65, ePERM),
	sockopt(solIPv6, high|64, ePERM),
	sockopt(solIPv6, 67, 0), // IPV6_TCLASS
	sockopt(solIPv6, 78, 0), // IPV6_FREEBIND

	persona(0, 0),
	persona(personaQuery, 0),
	persona(high|personaQuery, 0),
	persona(8, 0),
	persona(0x0040000, 0),     // ADDR_NO_RANDOMIZE
	persona(0x0020008, 0),     // UNAME26 | PER_LINUX32
	persona(0x0400000, ePERM), // READ_IMPLIES_EXEC
	persona(0x0100000, ePERM), // MMAP_PAGE_ZERO
	persona(0x0440000, ePERM),
	persona(high|0x0400000, ePERM),
	persona(0x4, ePERM),       // PER_SVR4 by number
	persona(0x4000000, ePERM), // STICKY_TIMEOUTS
}

// numbersOf returns the number of a call, or nothing where o.Arch lacks it.
func numbersOf(t *testing.T, o Options, name string) []uint32 {
	t.Helper()
	calls, err := Calls(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.Name == name {
			return []uint32{c.Number}
		}
	}
	return nil
}

func TestConditions(t *testing.T) {
	for _, o := range variants() {
		prog, audit := mustBuild(t, o), auditOf(t, o)
		for _, row := range rowsFor(o) {
			numbers := numbersOf(t, o, row.call)
			if len(numbers) == 0 {
				if !lacking[row.call] || o.Arch != ARM64 {
					t.Fatalf("%v: no number for %s", o, row.call)
				}
				continue
			}
			want := verdictFor(row.want(o))
			if r := mustRun(t, prog, data{nr: numbers[0], arch: audit, args: row.args}); r.action != want {
				t.Errorf("%v: %s%#x gives %#x, want %#x", o, row.call, row.args, r.action, want)
			}
		}
	}
}

// lacking are the calls that arm64 has only in the form with a directory.
var lacking = map[string]bool{
	"chmod": true, "open": true, "creat": true, "mkdir": true, "mknod": true, "rmdir": true, "unlink": true,
	"rename": true, "link": true, "symlink": true, "chown": true, "lchown": true,
	"utime": true, "utimes": true, "futimesat": true, "access": true,
}

// Every conditional rule must have rows above that show both answers.
func TestEveryConditionHasRows(t *testing.T) {
	allowed, refused := map[string]bool{}, map[string]bool{}
	for _, row := range conditionRows {
		allowed[row.call] = allowed[row.call] || row.none == 0
		refused[row.call] = refused[row.call] || row.none != 0
	}
	calls, err := Calls(Options{Arch: AMD64, Nesting: policy.NestedNone})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.Name == "kill" || c.Name == "pidfd_send_signal" {
			continue // their rows depend on an option: TestGroupSignals
		}
		if c.Class == Conditional && !(allowed[c.Name] && refused[c.Name]) {
			t.Errorf("%s is conditional without rows for both answers", c.Name)
		}
	}
}

// TestGroupSignals: without Landlock scopes the process group outside must be
// out of reach; one process, the own group by number and -1 stay possible.
func TestGroupSignals(t *testing.T) {
	rows := []struct {
		call    string
		args    [6]uint64
		refused bool
	}{
		{"kill", [6]uint64{0, 9}, true},
		{"kill", [6]uint64{high, 9}, true}, // the kernel takes an int
		{"kill", [6]uint64{12, 9}, false},
		{"kill", [6]uint64{1<<64 - 1, 15}, false},
		{"kill", [6]uint64{1<<64 - 12, 15}, false},
		{"pidfd_send_signal", [6]uint64{5, 9, 0, 0}, false},
		{"pidfd_send_signal", [6]uint64{5, 9, 0, 1}, false},
		{"pidfd_send_signal", [6]uint64{5, 9, 0, 4}, true},
	}
	for _, o := range variants() {
		for _, limited := range []bool{false, true} {
			o.NoGroupSignals = limited
			prog, audit := mustBuild(t, o), auditOf(t, o)
			for _, row := range rows {
				want := uint32(0)
				if row.refused && limited {
					want = ePERM
				}
				r := mustRun(t, prog, data{nr: numbersOf(t, o, row.call)[0], arch: audit, args: row.args})
				if r.action != action(want) {
					t.Errorf("%v limited %v: %s%#x gives %#x, want %#x", o, limited, row.call, row.args, r.action, action(want))
				}
			}
		}
	}
}

// TestPrograms: what could be started from memory is refused, and starts are
// told where somebody listens; nothing else changes.
func TestPrograms(t *testing.T) {
	rows := []struct {
		call  string
		flags uint64
		want  uint32 // with Programs
	}{
		{"memfd_create", 0, eACCES}, {"memfd_create", 1 | 2, eACCES}, {"memfd_create", 0x10, eACCES},
		{"memfd_create", high, eACCES}, {"memfd_create", high << 3, eACCES}, {"memfd_create", 8, 0}, {"memfd_create", 8 | 1, 0}, {"memfd_secret", 0, 0},
	}
	for _, o := range variants() {
		prog, audit := mustBuild(t, o), auditOf(t, o)
		for _, row := range rows {
			want := action(0)
			if o.Programs {
				want = action(row.want)
			}
			r := mustRun(t, prog, data{nr: numbersOf(t, o, row.call)[0], arch: audit, args: [6]uint64{1, row.flags}})
			if r.action != want {
				t.Errorf("%v: %s with %#x gives %#x, want %#x", o, row.call, row.flags, r.action, want)
			}
		}
		for _, call := range []string{"execve", "execveat"} {
			want := uint32(actionAllow)
			if (o.Programs || o.Opens) && o.Broker {
				want = actionNotify
			}
			if r := mustRun(t, prog, data{nr: numbersOf(t, o, call)[0], arch: audit}); r.action != want {
				t.Errorf("%v: %s gives %#x, want %#x", o, call, r.action, want)
			}
		}
	}
}

func TestRulesByLevel(t *testing.T) {
	rows := []struct {
		names              string
		none, userns, full uint16
	}{
		{"mount umount2 pivot_root move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr setns", ePERM, ePERM, 0},
		{"chroot", ePERM, 0, 0},
		{"clone3 io_uring_setup io_uring_enter io_uring_register modify_ldt lookup_dcookie nfsservctl", eNOSYS, eNOSYS, eNOSYS},
		{"bpf perf_event_open userfaultfd add_key request_key keyctl open_by_handle_at fanotify_init", ePERM, ePERM, ePERM},
		{"kexec_load kexec_file_load init_module finit_module delete_module", ePERM, ePERM, ePERM},
		{"quotactl quotactl_fd acct swapon swapoff reboot syslog vhangup settimeofday clock_settime iopl ioperm", ePERM, ePERM, ePERM},
		{"read openat execve fork connect sendto recvmsg kcmp memfd_create seccomp name_to_handle_at", 0, 0, 0},
	}
	for _, o := range variants() {
		got := map[string]Call{}
		calls, err := Calls(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			got[c.Name] = c
		}
		for _, row := range rows {
			want := map[policy.Nesting]uint16{
				policy.NestedNone: row.none, policy.NestedUserns: row.userns, policy.NestedFull: row.full,
			}[o.Nesting]
			for _, name := range fields(row.names) {
				if c, ok := got[name]; ok && c.Errno != want {
					t.Errorf("%v: %s answers %d, want %d", o, name, c.Errno, want)
				}
			}
		}
		for _, name := range fields("ptrace process_vm_readv process_vm_writev") {
			if open := got[name].Class == Allow; open != o.Debug {
				t.Errorf("%v: %s open is %v", o, name, open)
			}
		}
	}
}
