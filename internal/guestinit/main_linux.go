package guestinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// modulesDir is where package guestimage puts modules.
const modulesDir = "/carrel/modules"

// Main is the first program of a machine. It never returns: what it returned to would be the kernel,
// which ends the machine then as well.
func Main() {
	m := &machine{open: openPort, started: make(map[string]*os.Process)}
	if err := m.run(); err != nil {
		m.tell(Answer{Error: err.Error()})
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART) // QEMU ends with it
	select {}
}

type machine struct {
	sending sync.Mutex
	out     io.Writer // of answers
	open    func(port string) (*os.File, error)
	begun   bool
	user    int
	layers  int                    // of overlays
	started map[string]*os.Process // by their ports
}

func (m *machine) tell(a Answer) {
	m.sending.Lock()
	defer m.sending.Unlock()
	if m.out != nil {
		_ = json.NewEncoder(m.out).Encode(a) // where no one hears it, the orders end as well
	}
}

func (m *machine) run() error {
	for _, fs := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}} {
		if err := mountNew(fs.kind, fs.at, ""); err != nil {
			return err
		}
	}
	if err := loadModules(); err != nil {
		return err
	}
	port, err := m.open(Port)
	if err != nil {
		return err
	}
	m.out = port
	m.tell(Answer{Up: true})
	return m.obey(port)
}

// obey does what it is told, until the supervisor is gone.
func (m *machine) obey(in io.Reader) error {
	for orders := json.NewDecoder(in); ; {
		var o Order
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch {
		case o.Begin != nil && !m.begun:
			if err := m.begin(o.Begin); err != nil {
				return err
			}
			m.begun = true
			m.tell(Answer{Began: true})
		case o.Build != nil && m.begun:
			a := Answer{Built: true}
			if err := m.build(o.Build.Steps); err != nil {
				a = Answer{Error: err.Error()}
			}
			m.tell(a)
		case o.Stop != "" && m.started[o.Stop] != nil:
			_ = m.started[o.Stop].Kill() // an error says that it has ended
		case o.Start != nil && m.begun:
			if err := m.start(o.Start); err != nil {
				m.tell(Answer{Said: &Said{o.Start.Port, err.Error() + "\n"}})
				m.tell(Answer{Ended: &Ended{o.Start.Port, -1}})
			}
		}
	}
}

func mountNew(kind, at, options string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	flags := uintptr(unix.MS_NOSUID)
	if kind != "devtmpfs" && kind != "devpts" {
		flags |= unix.MS_NODEV
	}
	if err := unix.Mount(kind, at, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", kind, at, err)
	}
	return nil
}

// loadModules loads what the image brings.
func loadModules() error {
	files, err := filepath.Glob(modulesDir + "/*.ko")
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("loading %s: %w", path.Base(name), err)
		}
	}
	return nil
}

// The kernel makes the ports after it has found their device.
const (
	portTime   = time.Minute
	portPeriod = time.Millisecond
)

// openPort opens the port that has a name.
func openPort(name string) (*os.File, error) {
	for began := time.Now(); ; time.Sleep(portPeriod) {
		known, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, at := range known {
			text, err := os.ReadFile(at)
			if err != nil || strings.TrimSpace(string(text)) != name {
				continue
			}
			fd, err := unix.Open("/dev/"+path.Base(path.Dir(at)), unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err == nil {
				return os.NewFile(uintptr(fd), name), nil
			}
			if err != unix.ENOENT {
				return nil, fmt.Errorf("opening the port %s: %w", name, err)
			}
		}
		if time.Since(began) > portTime {
			return nil, fmt.Errorf("the machine has no port %s", name)
		}
	}
}

// begin sets the time and leaves the system that the kernel has unpacked: a directory in memory is
// the root, which commands may leave for one of their own (pivot_root(2)).
func (m *machine) begin(b *Begin) error {
	now := unix.NsecToTimeval(b.Time)
	if err := unix.Settimeofday(&now); err != nil {
		return fmt.Errorf("setting the time: %w", err)
	}
	if err := os.WriteFile("/dev/urandom", b.Seed, 0); err != nil {
		return fmt.Errorf("mixing randomness in: %w", err)
	}
	m.user = int(b.User)
	if err := errors.Join(unix.Sethostname([]byte(b.Name)), raiseLoopback(), roomForFiles()); err != nil {
		return err
	}
	const root = "/root"
	if err := mountNew("tmpfs", root, "mode=755"); err != nil {
		return err
	}
	program, err := os.ReadFile("/init")
	if err != nil {
		return err
	}
	if err := os.Mkdir(root+ownDir, 0o711); err != nil {
		return err
	}
	if err := os.WriteFile(root+Program, program, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if err := os.Mkdir(root+dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(dir, root+dir, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("moving %s: %w", dir, err)
		}
	}
	_ = os.RemoveAll(path.Dir(modulesDir)) // it is memory
	_ = os.Remove("/init")
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root: %w", err)
	}
	if err := errors.Join(unix.Chroot("."), unix.Chdir("/")); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	return devices()
}

// raiseLoopback has programs of the machine reach each other.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("raising the loopback: %w", err)
	}
	return nil
}

// roomForFiles lets commands open as many files as is usual; a kernel alone gives 4096 at most.
func roomForFiles() error {
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1024, Max: 1 << 20})
}

// devices makes what /dev has beside the kernel's devices.
func devices() error {
	for name, to := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := os.Symlink("/proc/self/fd"+to, "/dev/"+name); err != nil {
			return err
		}
	}
	if err := mountNew("devpts", "/dev/pts", "mode=620,ptmxmode=666"); err != nil {
		return err
	}
	for _, dir := range []string{"/dev/shm", "/tmp", "/var/tmp"} {
		if err := mountNew("tmpfs", dir, "mode=1777"); err != nil {
			return err
		}
	}
	return errors.Join(os.Mkdir("/run", 0o755), os.Mkdir(FilesDir, 0o700))
}

// start starts carrel-relay at a port.
func (m *machine) start(s *Start) error {
	port, err := m.open(s.Port)
	if err != nil {
		return err
	}
	defer port.Close()
	said, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	child, err := os.StartProcess(Program, append([]string{path.Base(Program)}, s.Args...), &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{port, port, theirs},
	})
	theirs.Close()
	if err != nil {
		said.Close()
		return err
	}
	m.started[s.Port] = child
	go func() {
		defer said.Close()
		buf := make([]byte, 4<<10)
		for {
			n, err := said.Read(buf)
			if n > 0 {
				m.tell(Answer{Said: &Said{s.Port, strings.ToValidUTF8(string(buf[:n]), "?")}})
			}
			if err != nil {
				break
			}
		}
		code := -1
		if state, err := child.Wait(); err == nil {
			code = state.ExitCode()
		}
		m.tell(Answer{Ended: &Ended{s.Port, code}})
	}()
	return nil
}
