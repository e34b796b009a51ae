package doctor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"carrel/internal/dirlist"
	"carrel/internal/incontainer"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
	"carrel/internal/seccomp"

	"golang.org/x/sys/unix"
)

// selfExe starts our own program even where its file was replaced.
const selfExe = "/proc/self/exe"

// maxSetting bounds what is read of one file of settings.
const maxSetting = 64 << 10

// This is the machine that we run on. getenv is its environment, state the
// path of the state directory ("" for none), dir the working directory ("" for
// that of this process). The program must be the stage when
// its argv[0] is [sandbox.StageArg0].
func This(getenv func(string) string, state, dir string) *Machine {
	m := &Machine{
		OS: runtime.GOOS, UID: os.Getuid(), Getenv: getenv,
		Read: readSetting, Find: findProgram,
		Exists:    func(p string) bool { _, err := os.Lstat(p); return err == nil },
		Locked:    rootsAlone,
		First:     incontainer.InFirstNamespaces,
		Namespace: makeNamespaces,
		Memory:    readMemory,
		Landlock:  landlock.ABI,
		Cgroup:    tryCgroup,
		State:     func() Place { return lookAt(state) },
		Try:       func(t Trial) error { return try(t, state) },
		Places:    func() []Place { return lookAtPlaces(getenv, dir) },
	}
	m.Self, _ = os.Readlink(selfExe)
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		m.Release = unix.ByteSliceToString(uts.Release[:])
	}
	return m
}

func readSetting(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSetting))
	return string(data), err
}

// findProgram looks in the system's own directories, as a run does: what the
// user's PATH finds first may come from anywhere. The last two have what programs start.
func findProgram(name string) string {
	for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/bin", "/usr/libexec", "/usr/lib"} {
		full := filepath.Join(dir, name)
		if st, err := os.Stat(full); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return full
		}
	}
	return ""
}

// rootsAlone looks at a file and all directories above it.
func rootsAlone(path string) bool {
	for at := path; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil || st.Uid != 0 || st.Mode&unix.S_IFMT == unix.S_IFLNK ||
			st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && st.Gid != 0 {
			return false
		}
		if at == "/" || at == "." {
			return at == "/"
		}
	}
}

func tryCgroup(controller string) error {
	if controller == "memory" {
		return sandbox.CanLimitMemory()
	}
	return sandbox.CanLimitPids()
}

// cloneFlags of the kinds, see namespaces(7).
var cloneFlags = map[Kind]uintptr{
	Mnt: unix.CLONE_NEWNS, PID: unix.CLONE_NEWPID, IPC: unix.CLONE_NEWIPC,
	UTS: unix.CLONE_NEWUTS, Cgroup: unix.CLONE_NEWCGROUP, Net: unix.CLONE_NEWNET,
}

// makeNamespaces starts our own program in new namespaces; that it could be
// started is the answer.
func makeNamespaces(kinds ...Kind) error {
	return inNamespaces(kinds, func(int) error { return nil })
}

// readMemory reads a byte that is mapped nowhere: the kernel looks first whether
// the reader may, and then fails to find it. Where a filter refuses the call, the broker
// reads by /proc, for which the kernel asks the same.
func readMemory() error {
	return inNamespaces(nil, func(pid int) error {
		var buf [1]byte
		local := []unix.Iovec{{Base: &buf[0], Len: 1}}
		_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Len: 1}}, 0)
		if err == nil || errors.Is(err, unix.EFAULT) {
			return nil
		}
		if f, e := os.Open(fmt.Sprintf("/proc/%d/mem", pid)); e == nil {
			return f.Close()
		}
		return fmt.Errorf("reading the memory of a process behind walls: %w", err)
	})
}

// inNamespaces starts our own program as a stage, which waits for a plan that
// never comes, and has it looked at.
func inNamespaces(kinds []Kind, look func(pid int) error) error {
	flags := uintptr(unix.CLONE_NEWUSER)
	for _, k := range kinds {
		flags |= cloneFlags[k]
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("making the control socket: %w", err)
	}
	defer unix.Close(pair[0])
	far := os.NewFile(uintptr(pair[1]), "stage control")
	defer far.Close()
	uid, gid := os.Getuid(), os.Getgid()
	runtime.LockOSThread() // its end is the stage's: see Pdeathsig
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(selfExe, []string{sandbox.StageArg0}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: []*os.File{nil, nil, nil, far},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  flags,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			Pdeathsig:   syscall.SIGKILL,
		},
	})
	if err != nil {
		return fmt.Errorf("creating namespaces: %w", unwrapPath(err))
	}
	err = look(process.Pid) // not collected yet, so the number is its own
	_ = process.Kill()
	_, _ = process.Wait()
	return err
}

// unwrapPath takes the name of our own program out of an error: it is not what
// was refused.
func unwrapPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// try builds the walls of one trial and takes them down.
func try(t Trial, state string) error {
	plan, clean, err := trialPlan(t, state)
	defer clean()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	defer null.Close()
	walls, err := sandbox.Launch(plan, selfExe, nil, [3]*os.File{null, null, null}, nil, nil, nil)
	if err != nil {
		return err
	}
	notes := walls.Notes
	walls.Kill()
	if t == TrialOverlay && len(notes) > 0 {
		return &sandbox.SetupError{Step: "mounting an overlay", Err: notes[0]}
	}
	return nil
}

// trialPlan is the smallest plan that needs what the trial is about.
func trialPlan(t Trial, state string) (*sandbox.Plan, func(), error) {
	clean := func() {}
	p := &sandbox.Plan{
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Mounts: []sandbox.Mount{
			{Kind: sandbox.MountTmpfs, Target: "/run", Perm: 0o755, Dir: true},
			{Kind: sandbox.MountBind, Target: "/usr", Source: "/usr", ReadOnly: true, Dir: true},
		},
	}
	for _, lib := range []string{"/lib", "/lib64"} {
		if to, err := os.Readlink(lib); err == nil {
			p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: lib, Source: to})
		} else {
			p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountBind, Target: lib, Source: lib, ReadOnly: true, Dir: true, Optional: true})
		}
	}
	// A stage of a program with C code starts itself anew from here.
	if self, err := os.Readlink(selfExe); err == nil {
		p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountBind, Target: sandbox.SelfPath, Source: self, ReadOnly: true})
	}
	switch t {
	case TrialProc, TrialNoProc:
		p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountProc, Target: "/proc", Dir: true, Optional: t == TrialNoProc})
		p.UserLimits = []sandbox.UserLimit{{Name: "max_mnt_namespaces", Value: 0}}
	case TrialLoopback:
		p.NewNet, p.Loopback = true, true
	case TrialFilter:
		return p, clean, filterPlan(p, false)
	case TrialHistory:
		const desk = "/desk"
		p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountTmpfs, Target: desk, Perm: 0o755, Dir: true})
		p.Roots = []string{desk}
		return p, clean, filterPlan(p, true)
	case TrialOverlay:
		return overlayPlan(p, state)
	}
	return p, clean, nil
}

// filterPlan adds the filter that workspaces get.
func filterPlan(p *sandbox.Plan, broker bool) error {
	arch, err := seccomp.HostArch()
	if err != nil {
		return err
	}
	program, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: policy.NestedUserns, Debug: true, Broker: broker})
	if err == nil {
		p.Seccomp = seccomp.Marshal(program)
	}
	return err
}

// overlayPlan puts the overlay's directories where a workspace has them, below
// the state directory; before the first run there is none, and nothing is made
// in home for a question.
func overlayPlan(p *sandbox.Plan, state string) (*sandbox.Plan, func(), error) {
	at := state
	if st, err := os.Stat(state); err != nil || !st.IsDir() {
		at = ""
	}
	removeLeft(at)
	dir, err := os.MkdirTemp(at, triedPrefix+"*")
	if err != nil {
		return nil, func() {}, fmt.Errorf("making a directory to try an overlay in: %w", err)
	}
	clean := func() { _ = dirlist.RemoveTree(dir) }
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, clean, fmt.Errorf("making a directory to try an overlay in: %w", err)
		}
	}
	p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountOverlay, Target: "/overlay", Dir: true,
		Source: dir + "/lower", Lower: dir + "/lower", Upper: dir + "/upper", Work: dir + "/work"})
	return p, clean, nil
}

// triedPrefix begins the names of directories that an overlay is tried in.
const triedPrefix = ".doctor-"

// triedAge is how old such a directory is when it is in use no more.
const triedAge = time.Hour

// removeLeft removes the directories of trials that were killed, and those that earlier
// versions could not remove. A failure changes no answer.
func removeLeft(state string) {
	if state == "" {
		return
	}
	entries, _ := os.ReadDir(state)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), triedPrefix) || !e.IsDir() {
			continue
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > triedAge {
			_ = dirlist.RemoveTree(filepath.Join(state, e.Name()))
		}
	}
}

// lookAt describes a directory without making it.
func lookAt(path string) Place {
	s := Place{Path: path}
	if path == "" {
		return s
	}
	s.Nearest = path
	for {
		st, err := os.Stat(s.Nearest)
		if err == nil {
			s.Exists = s.Nearest == path
			s.Owned = owner(st) == os.Getuid()
			s.Safe = st.IsDir() && s.Owned && st.Mode().Perm()&0o022 == 0
			break
		}
		if s.Nearest == "/" {
			break
		}
		s.Nearest = filepath.Dir(s.Nearest)
	}
	s.Denied = unix.Access(s.Nearest, unix.W_OK|unix.X_OK)
	var fs unix.Statfs_t
	if unix.Statfs(s.Nearest, &fs) == nil {
		s.Free, s.Files, s.Known = fs.Bavail*uint64(fs.Bsize), fs.Ffree, true
		if fs.Files == 0 { // made as they are needed
			s.Files = 1 << 62
		}
		s.NoExec = fs.Flags&unix.ST_NOEXEC != 0
	}
	return s
}

// lookAtPlaces describes where people keep programs of their own.
func lookAtPlaces(getenv func(string) string, dir string) []Place {
	var places []Place
	if home := getenv("HOME"); filepath.IsAbs(home) {
		places = append(places, lookAt(home))
	}
	if dir == "" {
		dir, _ = os.Getwd()
	}
	if dir != "" {
		places = append(places, lookAt(dir))
	}
	return places
}

// Canonical resolves the links of a path, as AppArmor sees programs; one that
// does not exist stays as it is.
func Canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func owner(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
