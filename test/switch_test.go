//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackUnder starts a program below a seccomp filter of its own: "listener"
// holds the one listener that the kernel gives, "old" answers as a kernel before
// 5.19 does, "nouserns" refuses user namespaces as container managers do, "novm"
// a call that reads the memory of others, "nomount" knows no new mount calls as other
// kernels do not. "==" stands for "--".
func attackUnder(args []string) (string, error) {
	runtime.LockOSThread()
	const notify, refuse, allow = 0x7fc00000, 0x00050000 | uint32(unix.EINVAL), 0x7fff0000
	filter := []unix.SockFilter{ // a number that no kernel has is told to the listener
		{Code: 0x20}, {Code: 0x15, Jf: 1, K: 100_000}, {Code: 0x06, K: notify}, {Code: 0x06, K: allow},
	}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	switch args[0] {
	case "nouserns":
		flags = 0
		filter = []unix.SockFilter{
			{Code: 0x20}, {Code: 0x15, Jf: 1, K: unix.SYS_CLONE3}, {Code: 0x06, K: 0x00050000 | uint32(unix.ENOSYS)},
			{Code: 0x15, Jt: 1, K: unix.SYS_CLONE}, {Code: 0x15, Jf: 3, K: unix.SYS_UNSHARE}, {Code: 0x20, K: 16},
			{Code: 0x45, Jf: 1, K: unix.CLONE_NEWUSER}, {Code: 0x06, K: 0x00050000 | uint32(unix.EPERM)}, {Code: 0x06, K: allow},
		}
	case "novm":
		flags = 0
		filter = []unix.SockFilter{{Code: 0x20}, {Code: 0x15, Jf: 1, K: unix.SYS_PROCESS_VM_READV}, {Code: 0x06, K: 0x00050000 | uint32(unix.EPERM)}, {Code: 0x06, K: allow}}
	case "nomount":
		flags = 0
		filter = []unix.SockFilter{
			{Code: 0x20}, {Code: 0x35, Jf: 2, K: unix.SYS_OPEN_TREE}, {Code: 0x25, Jt: 1, K: unix.SYS_FSPICK},
			{Code: 0x06, K: 0x00050000 | uint32(unix.ENOSYS)}, {Code: 0x06, K: allow},
		}
	case "old":
		flags = 0
		filter = []unix.SockFilter{
			{Code: 0x20}, {Code: 0x15, Jf: 3, K: unix.SYS_SECCOMP}, {Code: 0x20, K: 16 + 8},
			{Code: 0x45, Jf: 1, K: unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV}, {Code: 0x06, K: refuse}, {Code: 0x06, K: allow},
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "", err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return "", e
	}
	if args[0] == "listener" { // a listener that nobody holds any more is none
		if _, err := unix.FcntlInt(fd, unix.F_SETFD, 0); err != nil {
			return "", err
		}
	}
	for i := range args {
		if args[i] == "==" {
			args[i] = "--"
		}
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return "", err
	}
	return "", unix.Exec(path, args[1:], os.Environ())
}

// TestHistoryThatCannotBe: where changes cannot be stopped, a run is refused
// with what would be right, and --history off starts it.
func TestHistoryThatCannotBe(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for kind, want := range map[string][]string{
			"listener": {"listens to system calls already", "start carrel outside of that program", "--history off"},
			"old":      {"WAIT_KILLABLE_RECV", "Linux 5.19", "--history off"},
		} {
			w := newWorld(t, p)
			r := w.plain(built.attack, "under", kind, w.bin, "run", "==", "touch", "made")
			if r.code != 125 || exists(w.project+"/made") {
				t.Errorf("%s: want 125 and no command: %s", kind, r)
			}
			for _, text := range want {
				if !strings.Contains(r.err, text) {
					t.Errorf("%s: want %q: %s", kind, text, r)
				}
			}
			if r := w.plain(built.attack, "under", kind, w.bin, "run", "--history", "off", "==", "touch", "made"); r.code != 0 || !exists(w.project+"/made") {
				t.Errorf("%s, with --history off: %s", kind, r)
			}
		}
	})
}

// TestHistoryInsideAWorkspace: a second supervisor inside is refused with the
// reason, and with the outer history off it can be the one that records.
func TestHistoryInsideAWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	inner := []string{"--read", w.bin, "--", w.bin, "run", "--", "sh", "-c", "echo inside; touch made"}
	r := w.run(append([]string{"--nested", "full"}, inner...)...)
	if r.code != 125 || exists(w.project+"/made") || !strings.Contains(r.err, "changes are recorded already") || !strings.Contains(r.err, "--nested full --history off") {
		t.Errorf("below a workspace that records: %s", r)
	}
	r = w.run(inner...)
	if r.code != 125 || exists(w.project+"/made") || !strings.Contains(r.err, "--nested full") {
		t.Errorf("below a workspace without mounts: %s", r)
	}
	r = w.run(append([]string{"--nested", "full", "--history", "off"}, inner...)...)
	if r.code != 0 || r.out != "inside\n" || !exists(w.project+"/made") {
		t.Errorf("below a workspace that does not record: %s", r)
	}
}

// TestHistorySwitch: who may turn it off, and what a run says of it.
func TestHistorySwitch(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		const script = `mkdir .vscode 2>/dev/null && echo MADE; echo x >file; true`
		for _, row := range []struct {
			name, user, project, ceiling string
			flags                        []string
			want                         string // on, off or refused
			said                         string
		}{
			{name: "default", want: "on"},
			{name: "flag", flags: []string{"--history", "off"}, want: "off", said: "history off: changes were not recorded"},
			{name: "user", user: "history: off\n", want: "off", said: "history off: changes were not recorded"},
			{name: "flag over user", user: "history: off\n", flags: []string{"--history", "on"}, want: "on"},
			{name: "project cannot", project: "history: off\n", want: "on", said: ".carrel.yaml:1"},
			{name: "project turns it on", user: "history: off\n", project: "history: on\n", want: "on"},
			{name: "ceiling", ceiling: "history: on\n", flags: []string{"--history", "off"}, want: "refused", said: "the ceiling"},
			{name: "ceiling limits the user's file", ceiling: "history: on\n", want: "on"},
			{name: "unknown", flags: []string{"--history", "of"}, want: "refused", said: "on, off or draft"},
		} {
			t.Run(row.name, func(t *testing.T) {
				w := newWorld(t, p)
				flags := row.flags
				for file, text := range map[string]string{w.home + "/.config/carrel/config.yaml": row.user, w.project + "/.carrel.yaml": row.project, w.outside + "/c.yaml": row.ceiling} {
					if text != "" {
						w.write(file, text)
					}
				}
				if row.ceiling != "" {
					flags = append([]string{"--permissions", w.outside + "/c.yaml"}, flags...)
				}
				x := w.carrel(append(append([]string{"explain", "--plan"}, flags...), "--", "sh")...)
				r := w.run(append(append([]string{"--json"}, flags...), "--", "sh", "-c", script)...)
				logs := w.outsideSh("cat ~/.local/state/carrel/projects/*/changes/*.log 2>/dev/null; true")
				var result struct{ History string }
				for line := range strings.Lines(r.err) {
					_ = json.Unmarshal([]byte(line), &result)
				}
				switch row.want {
				case "refused":
					if r.code != 125 || x.code != 125 || !strings.Contains(r.err, row.said) || exists(w.project+"/file") {
						t.Errorf("want 125 and %q: %s%s", row.said, r, x)
					}
					return
				case "on":
					if strings.Contains(r.out, "MADE") || !strings.Contains(logs, "/file") || !strings.Contains(x.out, "is decided and recorded") {
						t.Errorf("not on: record %q, %s%s", logs, r, x)
					}
				case "off":
					if !strings.Contains(r.out, "MADE") || logs != "" || !strings.Contains(x.out, "nothing is recorded") {
						t.Errorf("not off: record %q, %s%s", logs, r, x)
					}
				}
				if result.History != row.want || r.code != 0 {
					t.Errorf("the result says history %q, want %q: %s", result.History, row.want, r)
				}
				if x := w.carrel(append(append([]string{"explain"}, flags...), "--", "sh")...); !strings.Contains(strings.Join(strings.Fields(x.out), " "), "history "+row.want+" ") {
					t.Errorf("explain does not show history %s: %s", row.want, x)
				}
				again := w.inTerminal(w.command(w.bin, append(append([]string{"run"}, flags...), "--", "sh", "-c", script)...)).all()
				if !strings.Contains(again, row.said) || row.want == "on" && strings.Contains(again, "history off:") {
					t.Errorf("in a terminal: want %q: %s", row.said, again)
				}
			})
		}
	})
}
