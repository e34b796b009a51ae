package guestagent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	osuser "os/user"
	"path"
	"runtime"
	"strconv"
	"syscall"

	"carrel/internal/inside"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"

	"golang.org/x/sys/unix"
)

// first is the word by which the agent starts itself as the first process of a namespace.
const first = "first"

// Own is the word by which commands run as the user of this process, who has another number there.
const Own = "own"

// user is that of commands.
type user struct {
	uid, gid uint32
	own      bool // who is this process's, under these numbers in a user namespace
}

// Main answers a supervisor over the standard streams until it goes. args has the number of the
// user for commands; or [Own], and the numbers of a user and a group. It says "ready" on standard
// error when commands can be started.
func Main(args []string) error {
	attends := len(args) > 1 && args[0] == first
	if attends {
		args = args[1:]
	}
	u, err := userOf(args)
	if err != nil {
		return err
	}
	switch {
	case attends && u.own:
		return stage.Attend(u.numbered(), nil)
	case attends:
		return stage.Attend(syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.gid}}, environment(args[0]))
	}
	if err := linkHelper(); err != nil {
		return err
	}
	runtime.LockOSThread() // what it starts ends with this thread
	return serve(u, args, os.Stdin, os.Stdout, func() error {
		_, err := fmt.Fprintln(os.Stderr, "ready")
		return err
	})
}

// numbered has a command be the user of this process under the numbers of u. Each has a user namespace
// of its own for that: a program that is started as another user than 0 loses what would make one for all.
func (u user) numbered() (as syscall.SysProcAttr) {
	if own := (user{uint32(os.Getuid()), uint32(os.Getgid()), true}); u != own {
		as.Cloneflags = unix.CLONE_NEWUSER
		as.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(u.uid), HostID: os.Getuid(), Size: 1}}
		as.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(u.gid), HostID: os.Getgid(), Size: 1}}
	}
	return as
}

func userOf(args []string) (u user, err error) {
	number := func(text string) uint32 {
		n, e := strconv.ParseUint(text, 10, 32)
		if e != nil {
			err = fmt.Errorf("%q is not the number of a user or a group", text)
		}
		return uint32(n)
	}
	switch {
	case len(args) == 3 && args[0] == Own:
		return user{number(args[1]), number(args[2]), true}, err
	case len(args) == 1:
		u.uid = number(args[0])
		if u.gid = u.uid; err == nil && u.uid == 0 {
			err = errors.New("0 is not the number of an ordinary user")
		}
		return u, err
	}
	return u, fmt.Errorf("%q is not a user for commands", args)
}

// linkHelper makes the name by which file tools start their helper, which is this program.
func linkHelper() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	at := path.Join(inside.Dir, inside.FileHelper)
	if err := os.MkdirAll(inside.Dir, 0o755); err != nil {
		return err
	}
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(self, at)
}

// environment is what a command has where it says nothing else.
func environment(id string) map[string]string {
	env := map[string]string{"HOME": "/tmp", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SHELL": "/bin/sh"}
	if u, err := osuser.LookupId(id); err == nil {
		env["HOME"], env["USER"], env["LOGNAME"] = u.HomeDir, u.Username, u.Username
	}
	return env
}

// startFirst starts the stage, and gives our end of its control socket.
func startFirst(u user, args []string) (pid int, control *sandbox.ControlSocket, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("making the control socket: %w", err)
	}
	defer unix.Close(pair[1])
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close()
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if u.own {
		attributes.Pdeathsig = 0 // the runtime takes its parent for dead, in gVisor's kernel it dies of that; the stage asks for it, too
	}
	pid, err = syscall.ForkExec("/proc/self/exe", append([]string{os.Args[0], "-serve", first}, args...), &syscall.ProcAttr{
		Dir: "/", Files: []uintptr{null.Fd(), null.Fd(), os.Stderr.Fd(), uintptr(pair[1])}, Sys: attributes,
	})
	if err != nil {
		unix.Close(pair[0])
		return 0, nil, fmt.Errorf("starting the first process: %w", err)
	}
	return pid, sandbox.NewControlSocket(os.NewFile(uintptr(pair[0]), "control")), nil
}
