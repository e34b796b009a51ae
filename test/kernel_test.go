//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nestings are the three levels.
var nestings = []string{"none", "userns", "full"}

// TestKernelSurface: system calls that have no business inside, whatever the
// level. The canary column says who can make the call succeed outside: anyone,
// root, or nobody on some machines; then a row is held by comparing errors.
func TestKernelSurface(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		canary string
		want   string
	}{
		{"io_uring", []string{"iouring"}, "root", "ENOSYS"},
		{"bpf", []string{"bpf"}, "root", "EPERM"},
		{"keyctl", []string{"keyctl"}, "anyone", "EPERM"},
		{"userfaultfd", []string{"userfaultfd"}, "anyone", "EPERM"},
		{"perf_event_open", []string{"perf"}, "root", "EPERM"},
		{"open_by_handle_at", []string{"openat", "/etc/passwd"}, "root", "EPERM"},
		{"fanotify", []string{"fanotify"}, "anyone", "EPERM"},
		{"clock_settime", []string{"clock"}, "root", "EPERM"},
		{"syslog", []string{"syslog"}, "root", "EPERM"},
		{"packet socket", []string{"socket", "17", "3", "768"}, "root", "EAFNOSUPPORT"},
		{"vsock", []string{"socket", "40", "1", "0"}, "anyone", "EAFNOSUPPORT"},
		{"crypto socket", []string{"socket", "38", "5", "0"}, "anyone", "EAFNOSUPPORT"},
		{"netfilter netlink", []string{"socket", "16", "3", "12"}, "anyone", "EPROTONOSUPPORT"},
		{"audit netlink", []string{"socket", "16", "3", "9"}, "anyone", "EPROTONOSUPPORT"},
		{"uevent netlink", []string{"socket", "16", "3", "15"}, "anyone", "EPROTONOSUPPORT"},
		{"raw socket", []string{"socket", "2", "3", "1"}, "root", "EPERM"},
		{"raw IPv6 socket", []string{"socket", "10", "3", "58"}, "root", "EPERM"},
		{"sctp socket", []string{"socket", "2", "5", "132"}, "", "ESOCKTNOSUPPORT"},
		{"bluetooth socket", []string{"socket", "31", "3", "1"}, "", "EAFNOSUPPORT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				if outside := w.canary(tt.args...); !strings.HasPrefix(outside, "ok") && (tt.canary == "anyone" || tt.canary == "root" && p.uid == 0) {
					t.Logf("this kernel refuses it outside too (%s): here the test shows only which error comes", outside)
				}
				for _, nested := range nestings {
					w.fails([]string{"--nested", nested, "--network", "local"}, tt.args, tt.want)
				}
			})
		})
	}
	t.Run("some succeed outside", func(t *testing.T) {
		w := newWorld(t, people()[0])
		w.mustWork("keyctl", "--", "socket", "16", "3", "9")
		if os.Getuid() == 0 {
			w.mustWork("bpf", "--", "perf", "--", "openat", "/etc/passwd", "--", "socket", "17", "3", "768", "--", "socket", "2", "3", "1", "--", "syslog")
		}
	})
}

// TestSocketsThatMustWork: the filter refuses families, not work.
func TestSocketsThatMustWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for _, args := range [][]string{
		{"socket", "1", "1", "0"}, {"socket", "1", "2", "0"}, {"socket", "1", "5", "0"}, {"socket", "2", "1", "0"}, {"socket", "2", "1", "6"},
		{"socket", "2", "2", "0"}, {"socket", "2", "2", "17"}, {"socket", "10", "1", "0"}, {"socket", "10", "2", "17"}, {"socket", "16", "3", "0"}, {"socket", "16", "2", "0"},
	} {
		for _, network := range []string{"closed", "local", "open"} {
			if got := w.attack([]string{"--network", network}, args...); got != "ok" {
				t.Errorf("--network %s: %q gives %q", network, args, got)
			}
		}
	}
}

// TestNestedNamespaces: what each level lets a command build.
func TestNestedNamespaces(t *testing.T) {
	tests := []struct {
		args []string
		want map[string]string // by level
	}{
		{[]string{"in", "user", "euid"}, map[string]string{"none": "EPERM", "userns": "ok inside: ok 0", "full": "ok inside: ok 0"}},
		{[]string{"in", "user+pid", "euid"}, map[string]string{"none": "EPERM", "userns": "ok inside: ok 0", "full": "ok inside: ok 0"}},
		{[]string{"in", "user+net", "euid"}, map[string]string{"none": "EPERM", "userns": "ok inside: ok 0", "full": "ok inside: ok 0"}},
		{[]string{"in", "user+mnt", "euid"}, map[string]string{"none": "EPERM", "userns": "EPERM", "full": "ok inside: ok 0"}},
		{[]string{"in", "user+mnt", "mount"}, map[string]string{"none": "EPERM", "userns": "EPERM", "full": "ok inside: ok"}},
		{[]string{"in", "user", "chroot"}, map[string]string{"none": "EPERM", "userns": "ok inside: ok", "full": "ok inside: ok"}},
		{[]string{"mount"}, map[string]string{"none": "EPERM", "userns": "EPERM", "full": "EPERM"}},
		{[]string{"chroot"}, map[string]string{"none": "EPERM", "userns": "EPERM", "full": "EPERM"}},
		{[]string{"setns"}, map[string]string{"none": "EPERM", "userns": "EPERM", "full": "EPERM"}},
		{[]string{"hostname"}, map[string]string{"none": "EPERM", "userns": "EPERM", "full": "EPERM"}},
		{[]string{"mknod", "/tmp/disk"}, map[string]string{"none": "EPERM", "userns": "EPERM", "full": "EPERM"}},
		{[]string{"in", "user", "mknod", "/tmp/disk"}, map[string]string{"none": "EPERM", "userns": "ok inside: EPERM", "full": "ok inside: EPERM"}},
		// A nested network namespace must not open kernel surface.
		{[]string{"in", "user+net", "socket", "16", "3", "12"}, map[string]string{"none": "EPERM", "userns": "ok inside: EPROTONOSUPPORT", "full": "ok inside: EPROTONOSUPPORT"}},
		{[]string{"in", "user+net", "socket", "17", "3", "768"}, map[string]string{"none": "EPERM", "userns": "ok inside: EAFNOSUPPORT", "full": "ok inside: EAFNOSUPPORT"}},
		{[]string{"in", "user+net", "socket", "2", "3", "1"}, map[string]string{"none": "EPERM", "userns": "ok inside: EPERM", "full": "ok inside: EPERM"}},
		{[]string{"in", "user+net", "bpf"}, map[string]string{"none": "EPERM", "userns": "ok inside: EPERM", "full": "ok inside: EPERM"}},
	}
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		for _, tt := range tests {
			for _, level := range nestings {
				got := w.attack([]string{"--nested", level}, tt.args...)
				if p.uid == 0 && tt.args[0] == "in" && got == "EPERM" {
					continue // since Linux 5.12 uid 0 can be mapped again only with CAP_SETFCAP, which nobody has inside
				}
				if got != tt.want[level] {
					t.Errorf("nested %s: %q gives %q, want %q", level, tt.args, got, tt.want[level])
				}
			}
		}
		if got := w.canary("in", "user+net", "socket", "16", "3", "12"); got != "ok inside: ok" {
			t.Errorf("canary: netfilter in a nested network namespace outside: %q", got)
		}
		if got := w.canary("in", "user+mnt", "mount"); got != "ok inside: ok" {
			t.Errorf("canary: a mount outside: %q", got)
		}
	})
}

func TestUnshareProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("unshare")
	tests := []struct {
		args string
		ok   map[string]bool
	}{
		{"unshare -Ur true", map[string]bool{"userns": true, "full": true}},
		{"unshare -Urpf true", map[string]bool{"userns": true, "full": true}},
		{"unshare -Urn true", map[string]bool{"userns": true, "full": true}},
		{"unshare -Urm true", map[string]bool{"full": true}},
		{"unshare -Urmpf --mount-proc true", map[string]bool{"full": true}},
	}
	for _, tt := range tests {
		for _, level := range nestings {
			if r := w.run("--nested", level, "--", "bash", "-c", tt.args); (r.code == 0) != tt.ok[level] {
				t.Errorf("nested %s: %s: %s", level, tt.args, r)
			}
		}
		if r := w.plain("bash", "-c", tt.args); r.code != 0 {
			t.Errorf("canary: %s: %s", tt.args, r)
		}
	}
}

// TestBubblewrapInside works at level full, and cannot take a mask away. It
// runs for an ordinary user alone: see TestNestedNamespaces for root.
func TestBubblewrapInside(t *testing.T) {
	t.Parallel()
	t.Run("user", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, ordinary(t))
		w.need("bwrap")
		file := w.write(w.project+"/dir/key.pem", "SECRET")
		w.write(w.project+"/.env", "SECRET")
		bwrap := "bwrap --ro-bind / / --dev /dev --bind $PWD $PWD --unshare-all --die-with-parent "
		if out := w.sh(bwrap+"sh -c 'echo works > made; id -u; cat made'", "--nested", "full", "--history", "off"); !strings.HasSuffix(out, "works\n") {
			t.Errorf("bubblewrap inside: %q", out)
		}
		// Through the broker a sandbox inside would be undone: it cannot write.
		if r := w.run("--nested", "full", "--", "sh", "-c", bwrap+"touch through"); r.code == 0 || exists(w.project+"/through") {
			t.Errorf("a nested sandbox writes through the broker: %s", r)
		}
		if w.read(w.project+"/made") != "works\n" {
			t.Error("bubblewrap inside wrote nothing")
		}
		as := "bwrap --unshare-user --uid 0 --cap-add ALL --bind / / --dev-bind /dev /dev "
		tries := []string{
			"umount FILE", "umount -l FILE", "mount --move FILE /tmp/x", "mount -o remount,rw FILE", "mount -o remount,bind,rw FILE",
			"mount --bind FILE /tmp/x; cat /tmp/x", "mount --rbind / /mnt; cat /mntFILE", "mount -t overlay o -o lowerdir=DIR,upperdir=/tmp/u,workdir=/tmp/w /mnt; cat /mnt/key.pem",
			"mount --bind DIR /mnt; cat /mnt/key.pem", "unshare -Urm umount -l FILE", "unshare -Urmpf sh -c 'umount -l FILE; cat FILE'",
			"mount --make-rprivate /; umount -R DIR", "mkdir /tmp/n; mount --rbind / /tmp/n; pivot_root /tmp/n /tmp/n; cat FILE", "nsenter -t 1 -m cat FILE", "umount -l /", "umount -l PROJECT; cat FILE",
			"mv DIR /tmp/; cat /tmp/dir/key.pem", "chmod 777 FILE; cat FILE", "mount -t proc proc /mnt; cat /mnt/1/rootFILE /mnt/self/rootFILE",
		}
		for _, try := range tries {
			script := strings.NewReplacer("FILE", file, "DIR", w.project+"/dir", "PROJECT", w.project).Replace(try)
			script = "touch /tmp/x; mkdir -p /tmp/u /tmp/w; " + script + "; cat " + file + " " + w.project + "/.env"
			for _, wrapped := range []string{as + "sh -c " + strconv.Quote(script), "unshare -Urm sh -c " + strconv.Quote(script)} {
				r := w.run("--nested", "full", "--deny", "**/*.pem", "--", "bash", "-c", wrapped)
				if strings.Contains(r.out+r.err, "SECRET") {
					t.Errorf("unmasked by %s\n%s", wrapped, r)
				}
			}
		}
		if w.read(file) != "SECRET" {
			t.Error("the denied file was changed")
		}
		if r := w.plain("bash", "-c", as+"cat "+file); r.out != "SECRET" {
			t.Errorf("canary: %s", r)
		}
	})
}

// TestTypingIntoTheTerminal: TIOCSTI would run commands in the shell outside.
func TestTypingIntoTheTerminal(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		inside := w.inTerminal(w.command(w.bin, "run", "--read", built.attack, "--", built.attack, "tiocsti"))
		if !strings.Contains(inside.all(), "EPERM") {
			t.Errorf("inside: %q", inside.all())
		}
		if p.uid == 0 {
			outside := w.inTerminal(w.command(built.attack, "tiocsti"))
			if !strings.Contains(outside.all(), "ok") {
				t.Fatalf("canary: %q", outside.all())
			}
		}
	})
}

// TestNestedProcShowsNoHost: a new /proc at level full shows the
// workspace's processes, never the host's.
func TestNestedProcShowsNoHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	s := w.sleeper()
	out := w.sh("unshare -Urmpf --mount-proc sh -c 'ls /proc | grep -c \"^[0-9]\"; ls -d /proc/"+strconv.Itoa(s.Process.Pid)+"' 2>/dev/null || true", "--nested", "full")
	if n, _ := strconv.Atoi(strings.Fields(out + " 99")[0]); n > 5 || strings.Contains(out, "/proc/") {
		t.Errorf("%q", out)
	}
	_ = unix.Kill(s.Process.Pid, unix.SIGKILL)
}
