package doctor

import (
	"fmt"
	"syscall"
)

const (
	restrict = "kernel.apparmor_restrict_unprivileged_userns"
	filterOn = "Name:\tx\nSeccomp:\t2\n"
)

var (
	inDocker    = files(map[string]string{"/.dockerenv": ""})
	underFilter = files(map[string]string{"/proc/self/status": filterOn})
)

func confined(label string) change {
	return files(map[string]string{"/proc/self/attr/apparmor/current": label})
}

// simulatedRefusals are those of settings, security modules and containers.
var simulatedRefusals = []row{
	{"limit is zero", []change{refuseNamespaces("", syscall.ENOSPC), sysctl("user.max_user_namespaces", "0")},
		"user-namespaces", Missing, CauseLimit, "sysctl -w user.max_user_namespaces=15000", false},
	{"limit is used up", []change{refuseNamespaces("", syscall.ENOSPC), sysctl("user.max_user_namespaces", "20000")},
		"user-namespaces", Missing, CauseLimit, "sysctl -w user.max_user_namespaces=40000", false},
	{"before 4.9", []change{refuseNamespaces("", syscall.EUSERS)}, "user-namespaces", Missing, CauseLimit, "max_user_namespaces", false},
	{"Debian's switch", []change{refuseNamespaces("", syscall.EPERM), sysctl("kernel.unprivileged_userns_clone", "0")},
		"user-namespaces", Missing, CauseSwitch, "sysctl -w kernel.unprivileged_userns_clone=1", false},
	{"Debian's switch is not about root", []change{root, refuseNamespaces("", syscall.EPERM), sysctl("kernel.unprivileged_userns_clone", "0")},
		"user-namespaces", Missing, "", "chroot", false},
	{"AppArmor at the namespace", []change{refuseNamespaces("", syscall.EACCES), sysctl(restrict, "1"), confined("unconfined\n")},
		"user-namespaces", Missing, CauseAppArmor, "/usr/local/bin/carrel doctor --print-apparmor --path /usr/local/bin/carrel | sudo tee", false},
	{"AppArmor at the first mount", []change{refuseTrial(syscall.EACCES, TrialMounts), sysctl(restrict, "1")}, "mounts", Missing, CauseAppArmor, "apparmor_parser -r", false},
	{"AppArmor with EPERM", []change{refuseTrial(syscall.EPERM, TrialMounts), sysctl(restrict, "1"), confined("unprivileged_userns (enforce)\n")},
		"mounts", Missing, CauseSecurity, "unprivileged_userns", false},
	{"AppArmor, carrel in home", []change{refuseNamespaces("", syscall.EACCES), sysctl(restrict, "1"), self("/home/o'neil/bin/carrel")},
		"user-namespaces", Missing, CauseAppArmor, `sudo install -m 0755 '/home/o'\''neil/bin/carrel' /usr/local/bin/carrel`, false},
	{"AppArmor, carrel where its user writes", []change{refuseNamespaces("", syscall.EACCES), sysctl(restrict, "1"), self("/opt/carrel/carrel")},
		"user-namespaces", Missing, CauseAppArmor, "sudo install -m 0755 /opt/carrel/carrel /usr/local/bin/carrel", false},
	{"AppArmor confines the shell", []change{refuseNamespaces("", syscall.EACCES), confined("snap.editor (enforce)\n")},
		"user-namespaces", Missing, CauseSecurity, `"snap.editor"`, false},
	{"AppArmor on the host of a container", []change{inDocker, refuseTrial(syscall.EPERM, TrialMounts), sysctl(restrict, "1"), confined("unconfined\n")},
		"mounts", Missing, CauseAppArmor, "on the host", false},
	{"docker's seccomp profile", []change{inDocker, underFilter, refuseNamespaces("", syscall.EPERM)},
		"user-namespaces", Missing, CauseContainer, "docker run --security-opt seccomp=unconfined", false},
	{"docker's AppArmor profile", []change{inDocker, refuseTrial(syscall.EACCES, TrialMounts), sysctl(restrict, "1"), confined("docker-default (enforce)\n")},
		"mounts", Missing, CauseContainer, "apparmor=unconfined", false},
	{"a machine made from docker's image", []change{inDocker, func(m *Machine) { m.First = func() bool { return true } }, underFilter, refuseNamespaces("", syscall.EPERM)},
		"user-namespaces", Missing, CauseFilter, "outside of it", false},
	{"podman", []change{refuseNamespaces("", syscall.EPERM), files(map[string]string{"/run/.containerenv": ""})},
		"user-namespaces", Missing, CauseContainer, "podman run", false},
	{"kubernetes", []change{refuseNamespaces("", syscall.EPERM), environment("KUBERNETES_SERVICE_HOST", "10.0.0.1")},
		"user-namespaces", Missing, CauseContainer, "procMount: Unmasked", false},
	{"kubernetes, as a user", []change{refuseNamespaces("", syscall.EPERM), environment("KUBERNETES_SERVICE_HOST", "1"), landlockABI(7)},
		"without-namespaces", Weak, "", "", false},
	{"docker, as root", []change{inDocker, underFilter, refuseNamespaces("", syscall.EPERM), landlockABI(7), func(m *Machine) { m.UID = 0 }},
		"without-namespaces", Missing, CauseRoot, "docker run --user 1000:1000", false},
	{"no namespaces, and an old landlock", []change{refuseNamespaces("", syscall.EPERM), release("6.8.0-45-generic"), landlockABI(4)},
		"without-namespaces", Missing, CauseKernel, "Linux 6.12", false},
	{"lxc", []change{refuseNamespaces("", syscall.EPERM), environment("container", "lxc")}, "user-namespaces", Missing, CauseContainer, "security.nesting true", false},
	{"nspawn", []change{refuseNamespaces("", syscall.EPERM), files(map[string]string{"/run/systemd/container": "systemd-nspawn\n"})},
		"user-namespaces", Missing, CauseContainer, "systemd-nspawn", false},
	{"a filter of a service", []change{underFilter, refuseNamespaces("", syscall.EPERM)}, "user-namespaces", Missing, CauseFilter, "RestrictNamespaces=no", false},
	{"behind our own walls", []change{refuseNamespaces("", syscall.ENOSPC), environment("CARREL", "1")}, "user-namespaces", Missing, CauseNested, "--nested full", false},
	{"a security module", []change{refuseNamespaces("", syscall.EACCES)}, "user-namespaces", Missing, CauseSecurity, "SELinux", false},
	{"an errno that says nothing", []change{refuseNamespaces("", syscall.EIO)}, "user-namespaces", Missing, "", "", false},
	{"mount namespaces limited", []change{refuseNamespaces(Mnt, syscall.ENOSPC)}, "namespaces", Missing, CauseLimit, "user.max_mnt_namespaces", false},
	{"network namespaces limited", []change{refuseNamespaces(Net, syscall.ENOSPC)}, "network-namespaces", Missing, CauseLimit, "user.max_net_namespaces", false},
	{"no loopback", []change{refuseTrial(syscall.EPERM, TrialLoopback), sysctl(restrict, "1")}, "network-namespaces", Missing, CauseAppArmor, "apparmor", false},
	{"no memory for tmpfs", []change{refuseTrial(syscall.ENOMEM, TrialMounts)}, "mounts", Missing, CauseMemory, "memory", false},
	{"as many mounts as there may be", []change{refuseTrial(syscall.ENOSPC, TrialMounts)}, "mounts", Missing, CauseMounts, "fs.mount-max", false},
	{"/proc is covered in docker", []change{inDocker, refuseTrial(syscall.EPERM, TrialProc)}, "proc", Weak, CauseContainer, "systempaths=unconfined", true},
	{"/proc is covered, and nothing instead", []change{inDocker, refuseTrial(syscall.EPERM, TrialProc, TrialNoProc)}, "proc", Missing, CauseContainer, "systempaths=unconfined", false},
	{"/proc is covered", []change{refuseTrial(syscall.EPERM, TrialProc), files(map[string]string{"/proc/self/mountinfo": `22 27 0:21 / /proc rw - proc proc rw
30 22 0:5 /null /proc/kcore rw - devtmpfs udev rw
31 22 0:5 / /proc/a\040b rw - tmpfs tmpfs rw
`})}, "proc", Weak, CauseCovered, "sudo umount '/proc/a b'\nsudo umount /proc/kcore", true},
	{"a listener around", []change{refuseTrial(syscall.EBUSY, TrialHistory)}, "history", Weak, CauseListener, "carrel run --history off", true},
	{"Yama 3", []change{refuseMemory(syscall.EPERM), sysctl("kernel.yama.ptrace_scope", "3")}, "memory", Weak, CauseYama, "sudo reboot", true},
	{"Yama 2", []change{sysctl("kernel.yama.ptrace_scope", "2")}, "memory", OK, "", "", true},
	{"memory hidden by a filter", []change{underFilter, refuseMemory(syscall.EPERM)}, "memory", Weak, CauseFilter, "filter", true},
	{"TIOCSTI off", []change{sysctl("dev.tty.legacy_tiocsti", "0")}, "terminal", OK, "", "", true},
}

// simulatedKernels are other kernels, and such as say so.
var simulatedKernels = []row{
	{"a kernel without user namespaces", []change{refuseNamespaces("", syscall.EINVAL)}, "user-namespaces", Missing, CauseKernel, "CONFIG_USER_NS=y", false},
	{"no pid namespaces", []change{refuseNamespaces(PID, syscall.EINVAL)}, "namespaces", Missing, CauseKernel, "CONFIG_PID_NS=y", false},
	{"no mount API", []change{refuseTrial(syscall.ENOSYS, TrialMounts), release("5.10.0")}, "mounts", Missing, CauseKernel, "Linux 5.12", false},
	{"mount API filtered out", []change{refuseTrial(syscall.ENOSYS, TrialMounts)}, "mounts", Missing, CauseFilter, "has to let it through", false},
	{"no seccomp", []change{refuseTrial(syscall.EINVAL, TrialFilter)}, "filter", Missing, CauseKernel, "CONFIG_SECCOMP_FILTER=y", false},
	{"seccomp forbidden", []change{underFilter, refuseTrial(syscall.EPERM, TrialFilter)}, "filter", Missing, CauseFilter, "filter", false},
	{"a processor without a filter", []change{func(m *Machine) {
		m.Try = func(t Trial) error {
			if t == TrialFilter {
				return errNoErrno
			}
			return nil
		}
	}}, "filter", Missing, CauseProcessor, "amd64 or arm64", false},
	{"no overlay module", []change{refuseTrial(0, TrialOverlay), files(map[string]string{"/proc/filesystems": "nodev\ttmpfs\n"})},
		"overlay", Weak, CauseKernel, "modprobe overlay", true},
	{"overlay refused by the file system", []change{refuseTrial(0, TrialOverlay), files(map[string]string{"/proc/filesystems": "nodev\toverlay\n"})},
		"overlay", Weak, "", "XDG_STATE_HOME", true},
	{"5.4", []change{release("5.4.0-100-generic")}, "kernel", Weak, CauseKernel, "", true},
	{"5.15", []change{release("5.15.0"), refuseTrial(syscall.EINVAL, TrialHistory)}, "history", Weak, CauseKernel, "Linux 5.19", true},
	{"5.14 of a vendor that carries back", []change{release("5.14.0-503.el9")}, "history", OK, "", "", true},
	{"a version of no known form", []change{release("mystery")}, "kernel", Weak, "", "", true},
	{"no landlock", []change{landlockABI(0)}, "landlock", Weak, CauseKernel, "lsm=", true},
	{"landlock before 6.2", []change{landlockABI(2)}, "landlock", Weak, CauseKernel, "Linux 6.2", true},
	{"landlock without scopes", []change{landlockABI(5)}, "landlock", Weak, CauseKernel, "Linux 6.12", true},
	{"landlock filtered out", []change{func(m *Machine) { m.Landlock = func() (int, error) { return 0, syscall.EPERM } }},
		"landlock", Missing, CauseFilter, "landlock_create_ruleset", false},
	{"WSL 1", []change{release("4.4.0-19041-Microsoft"), refuseNamespaces("", syscall.EINVAL), environment("WSL_DISTRO_NAME", "Ubuntu 24")},
		"user-namespaces", Missing, CauseWSL1, "wsl --set-version 'Ubuntu 24' 2", false},
	{"WSL 2", []change{release("5.15.167.4-microsoft-standard-WSL2"), refuseTrial(syscall.EINVAL, TrialHistory)}, "history", Weak, CauseKernel, "wsl --update", true},
	{"WSL 2 that has all", []change{release("6.6.87.2-microsoft-standard-WSL2")}, "surroundings", OK, "", "", true},
	{"gVisor", []change{release("4.4.0"), refuseTrial(syscall.ENOSYS, TrialMounts), inDocker,
		files(map[string]string{"/proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"})}, "mounts", Missing, CauseGVisor, "--runtime runc", false},
	{"no call to read memory", []change{refuseMemory(syscall.ENOSYS)}, "memory", Weak, CauseKernel, "CONFIG_CROSS_MEMORY_ATTACH", true},
}

// simulatedPlaces are control groups, directories and programs.
var simulatedPlaces = []row{
	{"cgroup v2, not delegated", []change{refuseGroups(syscall.EACCES), files(map[string]string{"/run/systemd/system": ""})},
		"cgroups", Weak, CauseGroups, "systemd-run --user --scope -p MemoryMax=4G", true},
	{"cgroup v2, with processes", []change{refuseGroups(fmt.Errorf("enabling: %w", syscall.EBUSY))}, "cgroups", Weak, CauseGroupBusy, "memory.max", true},
	{"cgroup v2, read-only in docker", []change{inDocker, refuseGroups(syscall.EROFS)}, "cgroups", Weak, CauseGroupsRO, "docker run --memory", true},
	{"cgroup v2 without controllers", []change{refuseGroups(syscall.ENOENT)}, "cgroups", Weak, CauseNoGroups, "", true},
	{"no cgroups", []change{refuseGroups(errNoErrno), files(map[string]string{"/proc/self/cgroup": ""})}, "cgroups", Weak, CauseNoGroups, "mount -t cgroup2", true},
	{"cgroup v1, not delegated", []change{refuseGroups(syscall.EACCES), files(map[string]string{"/proc/self/cgroup": "4:memory:/a b\n8:pids:/\n0::/\n"})},
		"cgroups", Weak, CauseGroups, "sudo mkdir -p '/sys/fs/cgroup/memory/a b/user-1000'", true},
	{"cgroups behind our own walls", []change{refuseGroups(syscall.EACCES), environment("CARREL", "1")}, "cgroups", Weak, CauseNested, "outer workspace", true},
	{"no state directory", []change{place(Place{})}, "state", Weak, CauseNoPlace, "HOME", true},
	{"state directory of somebody else", []change{place(Place{Path: "/s t", Exists: true, Nearest: "/s t", Denied: syscall.EACCES})},
		"state", Weak, CauseOwner, "sudo chown 1000 '/s t'", true},
	{"state directory that others write", []change{place(Place{Path: "/s", Exists: true, Nearest: "/s", Owned: true})}, "state", Weak, CauseOwner, "chmod 700 /s", true},
	{"state directory on a read-only disk", []change{place(Place{Path: "/h/s", Nearest: "/h", Safe: true, Owned: true, Denied: syscall.EROFS}),
		files(map[string]string{"/proc/self/mountinfo": "1 1 8:1 / / rw - ext4 a rw\n2 1 8:2 / /h ro - ext4 b ro\n3 1 8:2 / /home ro - ext4 b ro\n"})},
		"state", Weak, CauseReadOnly, "sudo mount -o remount,rw /h", true},
	{"home of somebody else", []change{place(Place{Path: "/h/s", Nearest: "/h", Denied: syscall.EACCES})}, "state", Weak, CauseOwner, "XDG_STATE_HOME", true},
	{"disk is low", []change{place(Place{Path: "/s", Exists: true, Nearest: "/s", Safe: true, Known: true, Free: 100 << 20, Files: 1 << 20})},
		"space", Weak, CauseFull, "XDG_STATE_HOME", true},
	{"disk without files", []change{place(Place{Path: "/s", Exists: true, Nearest: "/s", Safe: true, Known: true, Free: 100 << 30})},
		"space", Weak, CauseFull, "XDG_STATE_HOME", true},
	{"home is noexec", []change{func(m *Machine) {
		m.Places = func() []Place { return []Place{{Path: "/h", NoExec: true}, {Path: "/h/p", NoExec: true}} }
	}, files(map[string]string{"/proc/self/mountinfo": "1 1 8:1 / / rw - ext4 a rw\n2 1 8:2 / /h rw,noexec - ext4 b rw\n"})},
		"noexec", Weak, CauseNoExec, "sudo mount -o remount,bind,exec /h", true},
	{"no desktop programs", []change{without}, "links", Weak, CauseProgram, "xdg-utils", true},
	{"no virtual display", []change{without}, "virtual-display", Missing, CauseProgram, "xvfb", true},
	{"nobody can watch", []change{func(m *Machine) {
		find := m.Find
		m.Find = func(name string) string {
			if name == "x11vnc" {
				return ""
			}
			return find(name)
		}
	}}, "virtual-display", Weak, CauseProgram, "sudo apt-get install x11vnc", true},
}
