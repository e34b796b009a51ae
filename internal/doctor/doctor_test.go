package doctor

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/sandbox"
)

// healthy is a machine on which everything works.
func healthy() *Machine {
	return &Machine{
		OS: "linux", UID: 1000, Release: "6.12.1", Self: "/usr/local/bin/carrel",
		Getenv: func(string) string { return "" },
		Read: func(path string) (string, error) {
			if path == "/proc/self/cgroup" {
				return "0::/user.slice\n", nil
			}
			return "", fs.ErrNotExist
		},
		Exists:    func(string) bool { return false },
		Find:      func(program string) string { return "/usr/bin/" + program },
		Namespace: func(...Kind) error { return nil },
		Try:       func(Trial) error { return nil },
		Landlock:  func() (int, error) { return 6, nil },
		Cgroup:    func(string) error { return nil },
		State: func() Place {
			return Place{Path: "/h/.local/state/carrel", Exists: true, Nearest: "/h/.local/state/carrel", Writable: true, Safe: true, Free: 50 << 30, Known: true}
		},
	}
}

// The changes that tests make to a healthy machine.
type change func(*Machine)

func files(content map[string]string) change {
	return func(m *Machine) {
		before := m.Read
		m.Read = func(path string) (string, error) {
			if text, ok := content[path]; ok {
				return text, nil
			}
			return before(path)
		}
		m.Exists = func(path string) bool { _, ok := content[path]; return ok }
	}
}

func environment(name, value string) change {
	return func(m *Machine) {
		m.Getenv = func(n string) string {
			if n == name {
				return value
			}
			return ""
		}
	}
}

// refuseNamespaces refuses the kind, and "" all user namespaces.
func refuseNamespaces(kind Kind, errno syscall.Errno) change {
	return func(m *Machine) {
		m.Namespace = func(kinds ...Kind) error {
			if kind == "" || slices.Contains(kinds, kind) {
				return &sandbox.SetupError{Step: "creating namespaces", Err: errno.Error(), Code: int(errno)}
			}
			return nil
		}
	}
}

func refuseTrial(t Trial, errno syscall.Errno) change {
	return func(m *Machine) {
		m.Try = func(asked Trial) error {
			if asked == t {
				return &sandbox.SetupError{Step: "trying", Err: errno.Error(), Code: int(errno)}
			}
			return nil
		}
	}
}

func release(r string) change { return func(m *Machine) { m.Release = r } }
func root(m *Machine)         { m.UID = 0 }

func TestHealthy(t *testing.T) {
	r := Examine(healthy())
	if !r.Ready {
		t.Errorf("not ready: %v", r.Lacking())
	}
	for _, c := range r.Checks {
		if c.Status != OK || c.Fix != "" || c.Found == "" {
			t.Errorf("%s: %s, found %q, fix %q", c.Name, c.Status, c.Found, c.Fix)
		}
	}
}

func TestChecks(t *testing.T) {
	const user, others, network = "user namespaces", "mount, pid, ipc, uts and cgroup namespaces", "network namespaces"
	apparmor := files(map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"})
	tests := []struct {
		name    string
		changes []change
		check   string
		status  Status
		fix     string // part of it
		ready   bool
	}{
		{"limit is zero", []change{refuseNamespaces("", syscall.ENOSPC), files(map[string]string{"/proc/sys/user/max_user_namespaces": "0\n"})},
			user, Missing, "sysctl -w user.max_user_namespaces=15000", false},
		{"Debian's switch", []change{refuseNamespaces("", syscall.EPERM), files(map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0\n"})},
			user, Missing, "sysctl -w kernel.unprivileged_userns_clone=1", false},
		{"Debian's switch is not about root", []change{root, refuseNamespaces("", syscall.EPERM), files(map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0\n"})},
			user, Missing, "chroot", false},
		{"AppArmor at the namespace", []change{refuseNamespaces("", syscall.EACCES), apparmor}, user, Missing, "doctor --print-apparmor", false},
		{"AppArmor at the first mount", []change{refuseTrial(TrialMounts, syscall.EACCES), apparmor}, "mounts", Missing, "apparmor_parser -r", false},
		{"docker's seccomp profile", []change{refuseNamespaces("", syscall.EPERM), files(map[string]string{"/.dockerenv": ""})},
			user, Missing, "docker run --security-opt seccomp=unconfined", false},
		{"podman", []change{refuseNamespaces("", syscall.EPERM), files(map[string]string{"/run/.containerenv": ""})},
			user, Missing, "podman run", false},
		{"lxc", []change{refuseNamespaces("", syscall.EPERM), environment("container", "lxc")}, user, Missing, "security.nesting=true", false},
		{"a filter of a service", []change{refuseNamespaces("", syscall.EPERM), files(map[string]string{"/proc/self/status": "Name:\tx\nSeccomp:\t2\n"})},
			user, Missing, "RestrictNamespaces=no", false},
		{"behind our own walls", []change{refuseNamespaces("", syscall.ENOSPC), environment("CARREL", "1")}, user, Missing, "--nested full", false},
		{"a kernel without", []change{refuseNamespaces("", syscall.EINVAL)}, user, Missing, "CONFIG_USER_NS=y", false},
		{"a security module", []change{refuseNamespaces("", syscall.EACCES)}, user, Missing, "SELinux", false},
		{"an errno that says nothing", []change{refuseNamespaces("", syscall.EIO)}, user, Missing, "", false},
		{"no pid namespace in the kernel", []change{refuseNamespaces(PID, syscall.EINVAL)}, others, Missing, "CONFIG_PID_NS=y", false},
		{"mount namespaces limited", []change{refuseNamespaces(Mnt, syscall.ENOSPC)}, others, Missing, "user.max_mnt_namespaces", false},
		{"network namespaces limited", []change{refuseNamespaces(Net, syscall.ENOSPC)}, network, Missing, "user.max_net_namespaces", false},
		{"no loopback", []change{refuseTrial(TrialLoopback, syscall.EPERM), apparmor}, network, Missing, "apparmor", false},
		{"no mount API", []change{refuseTrial(TrialMounts, syscall.ENOSYS), release("5.10.0")}, "mounts", Missing, "Linux 5.12", false},
		{"mount API filtered out", []change{refuseTrial(TrialMounts, syscall.ENOSYS)}, "mounts", Missing, "has to let it through", false},
		{"/proc is covered in docker", []change{refuseTrial(TrialProc, syscall.EPERM), files(map[string]string{"/.dockerenv": ""})},
			"fresh /proc", Missing, "systempaths=unconfined", false},
		{"/proc is covered", []change{refuseTrial(TrialProc, syscall.EPERM)}, "fresh /proc", Missing, "findmnt -R /proc", false},
		{"no seccomp", []change{refuseTrial(TrialFilter, syscall.EINVAL)}, "system call filter", Missing, "CONFIG_SECCOMP_FILTER=y", false},
		{"a processor without a filter", []change{func(m *Machine) {
			m.Try = func(t Trial) error {
				if t == TrialFilter {
					return errors.New("architecture")
				}
				return nil
			}
		}}, "system call filter", Missing, "amd64 or arm64", false},
		{"no overlay module", []change{refuseTrial(TrialOverlay, 0), files(map[string]string{"/proc/filesystems": "nodev\ttmpfs\n"})},
			"overlay file system", Weak, "modprobe overlay", true},
		{"overlay refused by the file system", []change{refuseTrial(TrialOverlay, 0), files(map[string]string{"/proc/filesystems": "nodev\toverlay\n"})},
			"overlay file system", Weak, "XDG_STATE_HOME", true},
		{"old kernel", []change{release("5.4.0-100-generic")}, "kernel", Missing, "Linux 5.12", false},
		{"kernel without history", []change{release("5.15.0")}, "kernel", Weak, "Linux 5.19", true},
		{"kernel of no known form", []change{release("mystery")}, "kernel", Weak, "", true},
		{"no landlock", []change{func(m *Machine) { m.Landlock = func() (int, error) { return 0, nil } }}, "landlock", Weak, "lsm=", true},
		{"old landlock", []change{func(m *Machine) { m.Landlock = func() (int, error) { return 2, nil } }}, "landlock", Weak, "Linux 6.2", true},
		{"landlock without scopes", []change{func(m *Machine) { m.Landlock = func() (int, error) { return 5, nil } }}, "landlock", Weak, "Linux 6.12", true},
		{"landlock filtered out", []change{func(m *Machine) { m.Landlock = func() (int, error) { return 0, syscall.EPERM } }},
			"landlock", Missing, "landlock_create_ruleset", false},
		{"Yama 3", []change{files(map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "3\n"})}, "ptrace (Yama)", Weak, "reboot", true},
		{"Yama 1", []change{files(map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "1\n"})}, "ptrace (Yama)", OK, "", true},
		{"TIOCSTI off", []change{files(map[string]string{"/proc/sys/dev/tty/legacy_tiocsti": "0\n"})}, "terminal input (TIOCSTI)", OK, "", true},
		{"cgroups not delegated", []change{func(m *Machine) { m.Cgroup = func(string) error { return syscall.EACCES } },
			files(map[string]string{"/run/systemd/system": ""})}, "control groups", Weak, "Delegate=yes", true},
		{"no state directory", []change{func(m *Machine) { m.State = func() Place { return Place{} } }}, "state directory", Weak, "HOME", true},
		{"state directory of somebody else", []change{func(m *Machine) {
			m.State = func() Place { return Place{Path: "/s", Exists: true, Nearest: "/s", Writable: true} }
		}}, "state directory", Weak, "chown 1000", true},
		{"state directory on a read-only disk", []change{func(m *Machine) {
			m.State = func() Place { return Place{Path: "/h/s", Nearest: "/h", Safe: true} }
		}}, "state directory", Weak, "writable", true},
		{"disk is full", []change{func(m *Machine) {
			m.State = func() Place {
				return Place{Path: "/s", Exists: true, Nearest: "/s", Writable: true, Safe: true, Known: true, Free: 1 << 20}
			}
		}}, "free space", Weak, "XDG_STATE_HOME", true},
		{"no desktop programs", []change{func(m *Machine) { m.Find = func(string) string { return "" } }}, "links", Weak, "xdg-utils", true},
		{"no virtual display", []change{func(m *Machine) { m.Find = func(string) string { return "" } }}, "virtual display", Missing, "xvfb", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := healthy()
			for _, c := range tt.changes {
				c(m)
			}
			r := Examine(m)
			i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == tt.check })
			if i < 0 {
				t.Fatalf("no check %q", tt.check)
			}
			c := r.Checks[i]
			if c.Status != tt.status || !strings.Contains(c.Fix, tt.fix) || r.Ready != tt.ready {
				t.Errorf("got %s, ready %v, found %q, fix:\n%s\nwant %s, ready %v, fix with %q", c.Status, r.Ready, c.Found, c.Fix, tt.status, tt.ready, tt.fix)
			}
			if c.Status != OK && c.Means == "" {
				t.Error("it does not say what follows")
			}
			if !tt.ready && !slices.Contains(r.Lacking(), tt.check) {
				t.Errorf("lacking %v does not name %q", r.Lacking(), tt.check)
			}
		})
	}
}

// TestSkipped: one refusal is reported once, not as a list of consequences.
func TestSkipped(t *testing.T) {
	m := healthy()
	refuseNamespaces("", syscall.EPERM)(m)
	m.Try = func(trial Trial) error { t.Errorf("%s was tried without namespaces", trial); return nil }
	if got := Examine(m).Lacking(); len(got) != 1 || got[0] != "user namespaces" {
		t.Errorf("lacking %q, want user namespaces alone", got)
	}
}

func TestOtherSystem(t *testing.T) {
	if r := Examine(&Machine{OS: "darwin"}); r.Ready || len(r.Checks) != 1 || !strings.Contains(r.Checks[0].Fix, "Linux") {
		t.Errorf("got %+v", r)
	}
}

func TestProfile(t *testing.T) {
	tests := []struct{ self, want, err string }{
		{self: "/usr/local/bin/carrel", want: `profile carrel "/usr/local/bin/carrel" flags=(unconfined) {`},
		{self: `/opt/a b/[x]*"\@`, want: `profile carrel "/opt/a b/\[x\]\*\"\\\@" flags=(unconfined) {`},
		{self: "carrel", err: "not an absolute path"},
		{self: "/a\n}", err: "cannot stand in one"},
		{self: "/\xff", err: "cannot stand in one"},
	}
	for _, tt := range tests {
		got, err := Profile(tt.self)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || got != "" {
				t.Errorf("Profile(%q) = %q, %v, want an error with %q", tt.self, got, err, tt.err)
			}
			continue
		}
		if err != nil || !strings.Contains(got, tt.want+"\n  userns,\n") {
			t.Errorf("Profile(%q) = %v\n%s\nwant the line %s", tt.self, err, got, tt.want)
		}
	}
}

func TestVersion(t *testing.T) {
	tests := []struct {
		release      string
		major, minor int
		ok           bool
	}{
		{"6.18.44-fc-v669", 6, 18, true},
		{"5.15", 5, 15, true},
		{"6.8-rc1", 6, 8, true},
		{"5.15.167.4-microsoft-standard-WSL2", 5, 15, true},
		{"", 0, 0, false},
		{"six", 0, 0, false},
		{"6.", 0, 0, false},
	}
	for _, tt := range tests {
		major, minor, ok := version(tt.release)
		if ok != tt.ok || ok && (major != tt.major || minor != tt.minor) {
			t.Errorf("version(%q) = %d, %d, %v", tt.release, major, minor, ok)
		}
	}
}
