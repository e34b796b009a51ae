package qemu

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/advice"
	"carrel/internal/capped"
	"carrel/internal/guestimage"
	"carrel/internal/guestinit"
	"carrel/internal/memfile"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Config is what a machine is made of.
type Config struct {
	Program *Program
	Image   *guestimage.Image
	Init    []byte // the program with the number 1: carrel-relay
	Accel   Accel
	CPUs    int
	Memory  int64  // in bytes
	User    uint32 // of commands
}

// Ports of a machine beside that of its first program.
const (
	PortFiles    = "carrel.files"
	PortNetwork  = "carrel.network"
	PortCommands = "carrel.commands"
)

var ports = []string{guestinit.Port, PortFiles, PortNetwork, PortCommands}

const (
	bootTime  = 2 * time.Minute // until a machine answers first; 2 s where nothing else runs
	orderTime = time.Minute     // until it has done what it was told
	maxLine   = 64 << 10        // of what it says
	maxTold   = 8 << 10
)

// Machine is one that runs.
type Machine struct {
	cmd   *exec.Cmd
	told  *capped.Buffer // of QEMU; read after gone
	conns map[string]*net.UnixConn
	gone  chan struct{} // closed when QEMU has ended
	ended error         // read after gone

	answers chan guestinit.Answer // to the order that waits for one

	mu     sync.Mutex // of what follows, and of sending
	relays map[string]*Relay
}

// Start starts a machine, and returns when its first program waits for orders.
func Start(ctx context.Context, c Config) (*Machine, error) {
	m := &Machine{
		told: &capped.Buffer{Most: maxTold}, conns: make(map[string]*net.UnixConn), gone: make(chan struct{}),
		answers: make(chan guestinit.Answer, 1), relays: make(map[string]*Relay),
	}
	if err := m.launch(c); err != nil {
		m.closePorts()
		return nil, err
	}
	go m.hear()
	err := m.begin(ctx, c.User)
	if err != nil {
		m.Close()
		return nil, m.explain(err)
	}
	return m, nil
}

// launch starts QEMU.
func (m *Machine) launch(c Config) error {
	kernel, err := memfile.Sealed("kernel", c.Image.Kernel)
	if err != nil {
		return err
	}
	defer kernel.Close()
	initrd, err := memfile.Sealed("initrd", c.Image.Starting(c.Init))
	if err != nil {
		return err
	}
	defer initrd.Close()
	files := []*os.File{kernel, initrd}
	for _, name := range ports {
		far, err := m.port(name)
		if err != nil {
			return err
		}
		defer far.Close()
		files = append(files, far)
	}
	m.cmd = exec.Command(c.Program.Path, arguments(&c)...)
	m.cmd.Env, m.cmd.Dir, m.cmd.ExtraFiles, m.cmd.WaitDelay = environment, "/", files, endGrace
	m.cmd.Stdout, m.cmd.Stderr = m.told, m.told
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	started := make(chan error, 1)
	go func() { // the signal comes when the thread ends that has started it
		runtime.LockOSThread()
		err := m.cmd.Start()
		started <- err
		if err == nil {
			m.ended = m.cmd.Wait()
			close(m.gone)
		}
	}()
	return <-started
}

// port makes the two ends of a port, of which the machine's is the caller's to close.
func (m *Machine) port(name string) (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the port %s: %w", name, err)
	}
	near, far := os.NewFile(uintptr(pair[0]), name), os.NewFile(uintptr(pair[1]), name)
	defer near.Close()
	conn, err := net.FileConn(near)
	if err != nil {
		far.Close()
		return nil, err
	}
	m.conns[name] = conn.(*net.UnixConn)
	return far, nil
}

func (m *Machine) closePorts() {
	for _, c := range m.conns {
		c.Close()
	}
}

// begin waits until the machine is up, and gives it what it has not.
func (m *Machine) begin(ctx context.Context, user uint32) error {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	a, err := m.answer(ctx)
	if err == nil && !a.Up {
		err = errors.New("it does not say that it is up")
	}
	if err != nil {
		return err
	}
	seed := make([]byte, 64)
	_, _ = rand.Read(seed) // never fails
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	a, err = m.ask(ctx, guestinit.Order{Begin: &guestinit.Begin{Time: time.Now().UnixNano(), Seed: seed, User: user, Name: name}})
	if err == nil && !a.Began {
		err = errors.New("it does not say that it has begun")
	}
	return err
}

// Build has the machine make its system as a plan shows it, of what is served: paths below that, by
// those that they have in the machine.
func (m *Machine) Build(ctx context.Context, plan *sandbox.Plan, served map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	a, err := m.ask(ctx, guestinit.Order{Build: &guestinit.Build{Steps: steps(plan, served)}})
	if err == nil && !a.Built {
		err = errors.New("it does not say that its system is made")
	}
	if err != nil {
		return m.explain(err)
	}
	return nil
}

func (m *Machine) tell(o guestinit.Order) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	conn := m.conns[guestinit.Port]
	if err := conn.SetWriteDeadline(time.Now().Add(orderTime)); err != nil {
		return err
	}
	return json.NewEncoder(conn).Encode(o)
}

func (m *Machine) ask(ctx context.Context, o guestinit.Order) (guestinit.Answer, error) {
	if err := m.tell(o); err != nil {
		return guestinit.Answer{}, err
	}
	return m.answer(ctx)
}

func (m *Machine) answer(ctx context.Context) (a guestinit.Answer, err error) {
	select {
	case a = <-m.answers:
		if a.Error != "" {
			err = fmt.Errorf("the machine says: %.500q", a.Error)
		}
	case <-m.gone:
		err = errors.New("QEMU has ended")
	case <-ctx.Done():
		if err = ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("the machine does not answer")
		}
	}
	return a, err
}

// hear takes what the machine says, until it breaks the rules or is gone.
func (m *Machine) hear() {
	lines := bufio.NewScanner(m.conns[guestinit.Port])
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var a guestinit.Answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			break
		}
		switch {
		case a.Said != nil:
			m.relay(a.Said.Port).say(a.Said.Text)
		case a.Ended != nil:
			m.relay(a.Ended.Port).end()
		default:
			select {
			case m.answers <- a:
			default: // it was not asked
			}
		}
	}
	m.kill()
}

func (m *Machine) kill() { _ = m.cmd.Process.Kill() } // an error says that it has ended

// Gone is closed when the machine has ended.
func (m *Machine) Gone() <-chan struct{} { return m.gone }

// Close ends the machine at once: what was written to served files has come to this process.
func (m *Machine) Close() error {
	m.kill()
	<-m.gone
	m.closePorts()
	return nil
}

// explain adds what QEMU has said.
func (m *Machine) explain(err error) error {
	select {
	case <-m.gone:
	default:
		return err
	}
	lines := strings.Split(strings.TrimSpace(m.told.Text()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		err = fmt.Errorf("%w: %.500s", err, last)
	}
	if strings.Contains(strings.ToLower(m.told.Text()), "kvm") {
		return &advice.Error{Err: err, Hint: "`carrel doctor` says whether KVM runs machines here"}
	}
	return err
}
