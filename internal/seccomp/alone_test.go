package seccomp

import (
	"testing"

	"carrel/internal/policy"
)

// TestAlone: what namespaces would keep apart is refused, changes of metadata are
// told, and the rest is as ever.
func TestAlone(t *testing.T) {
	const trap = actionNotify
	errno := func(n uint32) uint32 { return action(n) }
	rows := []struct {
		call     string
		args     [6]uint64
		closed   uint32
		internet uint32
	}{
		{"socket", [6]uint64{afUnix, sockStream}, errno(eACCES), errno(eACCES)},
		{"socket", [6]uint64{high | afUnix, sockDgram}, errno(eACCES), errno(eACCES)},
		{"socket", [6]uint64{afInet, sockStream | cloexec}, errno(eACCES), errno(0)},
		{"socket", [6]uint64{afInet6, sockDgram}, errno(eACCES), errno(0)},
		{"socket", [6]uint64{afInet, sockRaw, 1}, errno(eACCES), errno(ePERM)},
		{"socket", [6]uint64{afNetlink, sockRaw}, errno(eACCES), errno(0)},
		{"socket", [6]uint64{40, sockStream}, errno(eACCES), errno(eAFNOSUPPORT)}, // VSOCK
		{"socketpair", [6]uint64{afUnix, sockStream | cloexec}, errno(0), errno(0)},
		{"socketpair", [6]uint64{high | afUnix, high | sockSeqpacket}, errno(0), errno(0)},
		{"socketpair", [6]uint64{afUnix, sockDgram}, errno(eSOCKTNOSUPPORT), errno(eSOCKTNOSUPPORT)},
		{"socketpair", [6]uint64{afUnix, sockRaw}, errno(eSOCKTNOSUPPORT), errno(eSOCKTNOSUPPORT)}, // a datagram socket by another name
		{"socketpair", [6]uint64{afInet, sockStream}, errno(eAFNOSUPPORT), errno(eAFNOSUPPORT)},
		{"fchmod", [6]uint64{3, 0o644}, trap, trap}, {"fchmodat", [6]uint64{}, trap, trap}, {"fchownat", [6]uint64{}, trap, trap},
		{"utimensat", [6]uint64{}, trap, trap}, {"setxattr", [6]uint64{}, trap, trap}, {"fremovexattr", [6]uint64{}, trap, trap},
		{"file_setattr", [6]uint64{}, trap, trap}, {"ioctl", [6]uint64{0, 0x40086602}, trap, trap}, {"ioctl", [6]uint64{0, 0x5401}, errno(0), errno(0)},
		{"ioctl", [6]uint64{0, tiocsti}, errno(ePERM), errno(ePERM)},
		{"openat", [6]uint64{0, 0, 0o1102}, errno(0), errno(0)}, {"unlinkat", [6]uint64{}, errno(0), errno(0)}, {"execve", [6]uint64{}, errno(0), errno(0)},
		{"getxattr", [6]uint64{}, errno(eOPNOTSUPP), errno(eOPNOTSUPP)}, {"fgetxattr", [6]uint64{}, errno(0), errno(0)},
		{"inotify_init1", [6]uint64{}, errno(eNOSYS), errno(eNOSYS)}, {"shmget", [6]uint64{}, errno(eNOSYS), errno(eNOSYS)}, {"mq_open", [6]uint64{}, errno(eNOSYS), errno(eNOSYS)},
		{"prlimit64", [6]uint64{0, 7}, errno(0), errno(0)}, {"prlimit64", [6]uint64{high, 7}, errno(0), errno(0)}, {"prlimit64", [6]uint64{12, 7}, errno(ePERM), errno(ePERM)},
		{"sched_setaffinity", [6]uint64{12}, errno(ePERM), errno(ePERM)}, {"sched_setattr", [6]uint64{0}, errno(0), errno(0)},
		{"setpriority", [6]uint64{0, 0, 5}, errno(0), errno(0)}, {"setpriority", [6]uint64{0, 12, 5}, errno(ePERM), errno(ePERM)},
		{"setpriority", [6]uint64{1, 0, 5}, errno(ePERM), errno(ePERM)}, {"setpriority", [6]uint64{2, 0, 5}, errno(ePERM), errno(ePERM)},
		{"ioprio_set", [6]uint64{1, 0}, errno(0), errno(0)}, {"ioprio_set", [6]uint64{2, 0}, errno(ePERM), errno(ePERM)}, {"ioprio_set", [6]uint64{0, 0}, errno(ePERM), errno(ePERM)},
		{"chroot", [6]uint64{}, errno(ePERM), errno(ePERM)}, {"clone", [6]uint64{newUser}, errno(ePERM), errno(ePERM)}, {"unshare", [6]uint64{newUser}, errno(ePERM), errno(ePERM)},
		{"kill", [6]uint64{1<<64 - 1, 9}, errno(0), errno(0)},
	}
	brokered := map[string]uint32{"openat": trap, "unlinkat": trap, "bind": trap, "landlock_restrict_self": errno(eOPNOTSUPP)}
	for _, arch := range []Arch{AMD64, ARM64} {
		o := Options{Arch: arch, Nesting: policy.NestedNone, Debug: true, Alone: true, Broker: true}
		prog, audit := mustBuild(t, o), auditOf(t, o)
		for _, row := range rows {
			want := row.closed
			if w, ok := brokered[row.call]; ok {
				want = w
			}
			for _, nr := range numbersOf(t, o, row.call) {
				if r := mustRun(t, prog, data{nr: nr, arch: audit, args: row.args}); r.action != want {
					t.Errorf("arch %d, broker: %s%#x gives %#x, want %#x", arch, row.call, row.args, r.action, want)
				}
			}
		}
		for _, internet := range []bool{false, true} {
			o := Options{Arch: arch, Nesting: policy.NestedNone, Debug: true, Alone: true, Internet: internet}
			prog, audit := mustBuild(t, o), auditOf(t, o)
			for _, row := range rows {
				want := row.closed
				if internet {
					want = row.internet
				}
				for _, nr := range numbersOf(t, o, row.call) {
					if r := mustRun(t, prog, data{nr: nr, arch: audit, args: row.args}); r.action != want {
						t.Errorf("arch %d, internet %v: %s%#x gives %#x, want %#x", arch, internet, row.call, row.args, r.action, want)
					}
				}
			}
		}
	}
}
