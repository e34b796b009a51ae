package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"carrel/internal/memfile"

	"golang.org/x/sys/unix"
)

// bwrapPath is the system's bubblewrap: no other one is looked for.
const bwrapPath = "/usr/bin/bwrap"

// helperEnv is all that a helper program gets of an environment.
var helperEnv = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}

// helperTime bounds a helper that should answer at once.
const helperTime = 10 * time.Second

// Bubblewrap is the system's bwrap, of a version that serves, after it has made
// namespaces for this user.
type Bubblewrap struct {
	Path    string
	Version string
}

// FindBubblewrap looks whether bubblewrap can make walls here: it is the
// system's, new enough, and makes a mount, a process and a network namespace.
// The error says which of these it is not.
func FindBubblewrap() (*Bubblewrap, error) {
	if err := systems(bwrapPath); err != nil {
		return nil, err
	}
	said, err := helper(bwrapPath, "--version")
	if err != nil {
		return nil, err
	}
	version := strings.TrimSpace(strings.TrimPrefix(said, "bubblewrap"))
	if !serves(version) {
		return nil, fmt.Errorf("%s is version %q, want 0.8 or later", bwrapPath, version)
	}
	_, err = helper(bwrapPath, "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--unshare-net",
		"--as-pid-1", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", bwrapPath, "--version")
	if err != nil {
		return nil, err
	}
	return &Bubblewrap{Path: bwrapPath, Version: version}, nil
}

// serves compares a version with 0.8.
func serves(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && (a > 0 || a == 0 && b >= 8)
}

// systems wants a program that nobody but root could have put there.
func systems(program string) error {
	for _, at := range []string{"/", "/usr", "/usr/bin", program} {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		kind := uint32(unix.S_IFDIR)
		if at == program {
			kind = unix.S_IFREG
		}
		if st.Mode&unix.S_IFMT != kind || st.Uid != 0 || st.Mode&0o022 != 0 {
			return fmt.Errorf("%s is not root's alone (owner %d, mode %o): it is not used", at, st.Uid, st.Mode&0o7777)
		}
	}
	return nil
}

// helper runs a program to its end and gives what it printed; an error has what
// it said.
func helper(argv ...string) (string, error) {
	said, err := memfile.New("said")
	if err != nil {
		return "", err
	}
	defer said.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return "", err
	}
	defer null.Close()
	process, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: "/", Env: helperEnv, Files: []*os.File{null, said, said}})
	if err != nil {
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	late := time.AfterFunc(helperTime, func() { _ = process.Kill() })
	defer late.Stop()
	state, err := process.Wait()
	if err != nil {
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	if !state.Success() {
		return "", fmt.Errorf("%s: %s: %s", argv[0], state, firstLine(said))
	}
	return firstLine(said), nil
}

// firstLine gives what a helper said first, of bounded length.
func firstLine(said *os.File) string {
	buf := make([]byte, 512)
	n, _ := said.ReadAt(buf, 0)
	line, _, _ := bytes.Cut(buf[:n], []byte("\n"))
	return string(line)
}

// startInBubblewrap has bubblewrap make the namespaces and mounts of p, and our
// stage started in them.
func startInBubblewrap(p *Plan) *Stage {
	s := &Stage{engine: EngineBubblewrap, newNet: p.NewNet}
	made, err := bubblewrap(p, lookAt)
	if err != nil {
		s.err = err
		return s
	}
	inside := *p
	inside.Mounts = made.done
	s.plan = &inside
	s.walls, s.err = made.start(p.NewNet)
	if s.err == nil && made.overlays {
		s.walls.Notes = append(s.walls.Notes, "bubblewrap makes no copy-on-write caches: those of the host are not used")
	}
	return s
}

// lookAt pins a host path for as long as it takes to know what it is.
func lookAt(host string) (place, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, host, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return place{}, nil
	}
	if err != nil {
		return place{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return place{}, err
	}
	return place{there: true, dev: st.Dev, ino: st.Ino}, nil
}

// start runs bubblewrap and waits for the stage's first word.
func (b *bwrapPlan) start(newNet bool) (*Walls, error) {
	said, err := memfile.New("bubblewrap")
	if err != nil {
		return nil, fmt.Errorf("preparing bubblewrap: %w", err)
	}
	defer said.Close()
	// Whoever kills bubblewrap while it starts leaves the process that it has
	// forked: with this it is ours, and can be found.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("preparing bubblewrap: %w", err)
	}
	w, err := b.fork(said)
	if err != nil {
		return nil, err
	}
	if err = w.answers(); err == nil {
		err = w.greeted(newNet)
	}
	if err == nil {
		err = w.tie()
	}
	if err != nil {
		w.Kill()
		killOrphans()
		if line := firstLine(said); line != "" {
			err = fmt.Errorf("%w: %s", err, line)
		}
		return nil, &SetupError{Step: "having " + bwrapPath + " make the walls", Err: err.Error(), Code: codeOf(err)}
	}
	return w, nil
}

// fork starts bubblewrap. When it returns no descriptor of the other side is
// open here: the end of the stage is the end of the control socket.
func (b *bwrapPlan) fork(said *os.File) (*Walls, error) {
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	keep := func(f *os.File, err error) (*os.File, error) {
		if err == nil {
			open = append(open, f)
		}
		return f, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	control := os.NewFile(uintptr(pair[0]), "control")
	far, _ := keep(os.NewFile(uintptr(pair[1]), "stage control"), nil)
	var leash [2]int
	if err := unix.Pipe2(leash[:], unix.O_CLOEXEC); err != nil {
		control.Close()
		return nil, fmt.Errorf("preparing bubblewrap: %w", err)
	}
	held, end := os.NewFile(uintptr(leash[1]), "leash"), os.NewFile(uintptr(leash[0]), "end of the leash")
	files, err := b.files(said, far, end, keep)
	if err == nil {
		err = unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	}
	if err != nil {
		control.Close()
		held.Close()
		end.Close()
		return nil, fmt.Errorf("preparing bubblewrap: %w", err)
	}
	argv := []string{bwrapPath, "--args", strconv.Itoa(ControlFD + 1), "--", insidePath, InsideArg, numbers(terminalSignals)}
	child, err := forkHeld(argv, files)
	if err != nil {
		control.Close()
		held.Close()
		end.Close()
		return nil, &SetupError{Step: "starting " + bwrapPath, Err: err.Error()}
	}
	w := newWalls(control)
	w.child, w.leash, w.leashEnd = child, held, end
	return w, nil
}

// tie has the kernel end bubblewrap, and with it the stage, when this process
// is gone: nobody else has the writing end of the leash, whose end is the
// signal, and the stage keeps the reading end. A death signal would do that from
// the start, and so leave the process that bubblewrap has forked waiting for
// ever for one that is dead. Until here a stage without a supervisor ends by
// itself, as its control socket does, and bubblewrap with it.
func (w *Walls) tie() error {
	defer w.leashEnd.Close()
	return control(w.leashEnd, func(fd int) error {
		for _, set := range []struct{ cmd, to int }{{unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETOWN, w.child}, {unix.F_SETFL, unix.O_ASYNC}} {
			if _, err := unix.FcntlInt(uintptr(fd), set.cmd, set.to); err != nil {
				return fmt.Errorf("tying bubblewrap to us: %w", err)
			}
		}
		return nil
	})
}

// files are the descriptors of bubblewrap, by number: nothing as standard input
// and output, a memory file for what it says, the control socket, its arguments,
// the leash, which the stage inherits, and the generated contents.
func (b *bwrapPlan) files(said, far, leash *os.File, keep func(*os.File, error) (*os.File, error)) ([]uintptr, error) {
	null, err := keep(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	if err != nil {
		return nil, err
	}
	var list []byte
	for _, arg := range b.args {
		list = append(append(list, arg...), 0)
	}
	args, err := keep(memfile.Sealed("bubblewrap arguments", list))
	if err != nil {
		return nil, err
	}
	fds := []uintptr{null.Fd(), null.Fd(), said.Fd(), far.Fd(), args.Fd(), leash.Fd()}
	for _, data := range b.data {
		f := null
		if len(data) > 0 {
			if f, err = keep(memfile.Sealed("file", data)); err != nil {
				return nil, err
			}
		}
		fds = append(fds, f.Fd())
	}
	return fds, nil
}

// terminalSignals are what a terminal or a caller sends to the whole process
// group. bubblewrap would die of them, or stop, and with it everything inside:
// it inherits them blocked, and the stage unblocks them.
var terminalSignals = []unix.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM, unix.SIGTERM,
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGWINCH,
}

func numbers(signals []unix.Signal) string {
	var words []string
	for _, s := range signals {
		words = append(words, strconv.Itoa(int(s)))
	}
	return strings.Join(words, ",")
}

// forkHeld starts bubblewrap with the terminal's signals blocked. They are
// blocked for this thread alone.
func forkHeld(argv []string, files []uintptr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var held, before unix.Sigset_t
	for _, s := range terminalSignals {
		held.Val[0] |= 1 << (uint(s) - 1)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &held, &before); err != nil {
		return 0, err
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	return syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir: "/", Env: append(helperEnv[:len(helperEnv):len(helperEnv)], StageEnv...), Files: files,
	})
}

// codeOf is ENOENT where bubblewrap's words say that something has gone meanwhile, 0 for all others.
// Where the directory of that is read-only, it cannot make the place for a mount.
func codeOf(err error) int {
	said := strings.TrimSpace(err.Error()) // in the language of helperEnv
	if strings.HasSuffix(said, "No such file or directory") ||
		strings.Contains(said, "Can't create file at ") && strings.HasSuffix(said, "Read-only file system") {
		return int(unix.ENOENT)
	}
	return 0
}

// answers waits until the stage says something, or bubblewrap is gone: what that
// has forked may wait for it for ever, with the control socket open.
func (w *Walls) answers() error {
	pidfd, err := unix.PidfdOpen(w.child, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	return control(w.control.file, func(fd int) error {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(pidfd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil {
			return err
		}
		if fds[0].Revents == 0 {
			return errors.New("bubblewrap was ended")
		}
		return nil
	})
}

// killOrphans ends what bubblewrap has left to us.
func killOrphans() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		children, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		for word := range strings.FieldsSeq(string(children)) {
			name, _ := os.ReadFile("/proc/" + word + "/comm")
			pid, err := strconv.Atoi(word)
			if err != nil || string(name) != "bwrap\n" {
				continue
			}
			// A child that is not collected keeps its number.
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	}
}

// greeted takes the stage's first word, and wants its namespaces not to be ours.
func (w *Walls) greeted(newNet bool) error {
	namespaces, err := w.hello()
	if err != nil {
		return err
	}
	return apart(namespaces, newNet)
}

// hello takes the first word of a stage that is no child of ours: who it is in our
// numbers, as the kernel says, and what it tells of itself.
func (w *Walls) hello() (string, error) {
	buf, oob := make([]byte, MaxMessage), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	var n, oobn int
	err := control(w.control.file, func(fd int) (err error) {
		if n, oobn, _, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC); err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 0)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", errors.New("it ended before the walls stood")
	}
	m, err := DecodeMessage(buf[:n])
	if err == nil && m.Kind == MsgSetup {
		return "", setupError(m)
	}
	if err != nil || m.Kind != MsgHello {
		return "", fmt.Errorf("the stage said %q", m.Kind)
	}
	if w.pid, err = sender(oob[:oobn]); err != nil {
		return "", err
	}
	// It waits for the plan, so that its number is still its own.
	w.pidfd, err = unix.PidfdOpen(w.pid, 0)
	return m.Text, err
}

func sender(oob []byte) (int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, err
	}
	for i := range messages {
		if c, err := unix.ParseUnixCredentials(&messages[i]); err == nil && c.Pid > 0 {
			return int(c.Pid), nil
		}
	}
	return 0, errors.New("the kernel does not say who the stage is")
}

// NamespaceKinds are what the stage tells of in its first word. The user
// namespace is not among them: a setuid bubblewrap may do without.
var NamespaceKinds = []string{"mnt", "pid", "ipc", "uts", "cgroup", "net"}

// apart compares the stage's namespaces with our own.
func apart(theirs string, newNet bool) error {
	names := strings.Fields(theirs)
	if len(names) != len(NamespaceKinds) {
		return fmt.Errorf("the stage told of %d namespaces", len(names))
	}
	for i, kind := range NamespaceKinds {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return err
		}
		if own == names[i] && (newNet || kind != "net") {
			return fmt.Errorf("the %s namespace is our own", kind)
		}
	}
	return nil
}

// waitGone waits until the stage is gone, and with PID 1 everything inside.
func (w *Walls) waitGone() {
	if w.pidfd < 0 {
		return
	}
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(w.pidfd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			break
		}
	}
	unix.Close(w.pidfd)
	w.pidfd = -1
}
