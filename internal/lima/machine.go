package lima

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"carrel/internal/advice"
	"carrel/internal/capped"
)

// namePrefix is what the names of machines begin with.
const namePrefix = "carrel-"

const stopTime = 5 * time.Minute

// Machine is one that limactl knows and that was made here.
type Machine struct {
	Name      string
	Status    string // Running, Stopped, Broken
	Dir       string
	Workspace string // that it was made for
	Mark      string // of the template that it was made from
	Project   string // that limactl mounts there, "" for none
}

// List gives the machines that were made here, by the word that they carry.
func (p *Program) List(ctx context.Context) ([]Machine, error) {
	out, err := p.do(ctx, askTime, nil, "list", "--json")
	if err != nil {
		return nil, err
	}
	return machinesOf(out)
}

// machinesOf reads an object a line.
func machinesOf(said []byte) (list []Machine, err error) {
	decoder := json.NewDecoder(bytes.NewReader(said))
	for {
		var one struct {
			Name, Status, Dir string
			Config            struct {
				Env    map[string]string
				Mounts []struct{ Location string }
			}
		}
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what limactl lists: %w", err)
		}
		m := Machine{Name: one.Name, Status: one.Status, Dir: one.Dir}
		if len(one.Config.Mounts) > 0 {
			m.Project = one.Config.Mounts[0].Location
		}
		m.Workspace, m.Mark = one.Config.Env[wordWorkspace], one.Config.Env[wordTemplate]
		if m.Workspace != "" && m.Name == namePrefix+m.Workspace {
			list = append(list, m)
		}
	}
}

// Find gives the machine of a workspace, nil where there is none.
func (p *Program) Find(ctx context.Context, workspace string) (*Machine, error) {
	list, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Workspace == workspace {
			return &m, nil
		}
	}
	return nil, nil
}

// Differs says that a machine was made from another template than the policy gives now.
func (m *Machine) Differs(mark string) error {
	if m.Mark == mark {
		return nil
	}
	return &advice.Error{
		Err:  fmt.Errorf("the machine %s was made from another template than the policy gives now", m.Name),
		Hint: "`carrel lima recreate` makes it anew; what is in the machine and not in the project is lost",
	}
}

// Raise makes the machine of a workspace where there is none, and starts it.
func (p *Program) Raise(ctx context.Context, s *Spec) (*Machine, error) {
	text, mark, err := s.Template()
	if err != nil {
		return nil, err
	}
	m, err := p.Find(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	if m == nil {
		p.tell("making the machine " + namePrefix + s.Workspace + " of " + s.Images[0].Location + ", which takes minutes")
		if err := p.create(ctx, namePrefix+s.Workspace, text); err != nil {
			return nil, err
		}
		if m, err = p.Find(ctx, s.Workspace); err != nil {
			return nil, err
		}
		if m == nil {
			return nil, fmt.Errorf("limactl has made the machine %s, and does not list it", namePrefix+s.Workspace)
		}
	}
	if err := m.Differs(mark); err != nil {
		return nil, err
	}
	if m.Status != "Running" {
		p.tell("starting the machine " + m.Name)
		if _, err := p.do(ctx, startTime, nil, "start", "--tty=false", "--timeout=14m", m.Name); err != nil {
			err = p.notStarted(ctx, s.Workspace, err)
			// limactl leaves what it has started, which would run on without an end.
			_, _ = p.do(context.WithoutCancel(ctx), stopTime, nil, "stop", "--force", m.Name)
			return nil, err
		}
		m.Status = "Running"
	}
	return m, nil
}

// maxLog bounds what is read of the log of a machine's start, in bytes, from its end.
const maxLog = 64 << 10

// notStarted adds what QEMU has said, which limactl has in a file only.
func (p *Program) notStarted(ctx context.Context, workspace string, err error) error {
	m, _ := p.Find(context.WithoutCancel(ctx), workspace)
	if m == nil || ctx.Err() != nil {
		return err
	}
	f, e := os.Open(m.Dir + "/ha.stderr.log")
	if e != nil {
		return err
	}
	defer f.Close()
	if st, e := f.Stat(); e == nil {
		_, _ = f.Seek(max(0, st.Size()-maxLog), io.SeekStart)
	}
	log, _ := io.ReadAll(io.LimitReader(f, maxLog))
	said := ""
	for line := range bytes.Lines(log) {
		var one struct{ Msg string }
		if json.Unmarshal(line, &one) != nil {
			continue
		}
		if text, ok := strings.CutPrefix(one.Msg, "qemu[stderr]: "); ok {
			said = text
		}
	}
	if said == "" {
		return err
	}
	return explain("the machine "+m.Name, errors.New("it did not start"), said)
}

// create gives limactl the template by its standard input: no file of it lies around. What a failed one has
// made of the machine would be in the way of the next.
func (p *Program) create(ctx context.Context, name string, template []byte) error {
	_, err := p.do(ctx, startTime, bytes.NewReader(template), "create", "--tty=false", "--name="+name, "-")
	switch {
	case err == nil:
		return nil
	case strings.Contains(strings.ToLower(err.Error()), "exists"):
		return &advice.Error{Err: fmt.Errorf("%w: it is none that was made of a policy, or its making was broken off", err),
			Hint: "see what is in it, and remove it: limactl delete --force " + name}
	}
	_, _ = p.do(context.WithoutCancel(ctx), stopTime, nil, "delete", "--force", name)
	return err
}

// Remove ends a machine and takes it away with its disk.
func (p *Program) Remove(ctx context.Context, m *Machine) error {
	_, err := p.do(ctx, stopTime, nil, "delete", "--force", m.Name)
	return err
}

// Recreate takes the machine of a workspace away, where there is one, and makes it anew.
func (p *Program) Recreate(ctx context.Context, s *Spec) (*Machine, error) {
	if _, _, err := s.Template(); err != nil {
		return nil, err
	}
	m, err := p.Find(ctx, s.Workspace)
	if err == nil && m != nil {
		err = p.Remove(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	return p.Raise(ctx, s)
}

// Prune takes away the machines that are not to be kept, and gives their names.
func (p *Program) Prune(ctx context.Context, keep func(Machine) bool) (gone []string, err error) {
	list, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if keep(m) {
			continue
		}
		if e := p.Remove(ctx, &m); e != nil {
			err = errors.Join(err, e)
			continue
		}
		gone = append(gone, m.Name)
	}
	return gone, err
}

// shell gives the words of a command in a machine, as its own user there: "-n" so that sudo
// never asks, "--" so that nothing of the command is sudo's. They begin in the root directory,
// which limactl's own user may enter.
func (m *Machine) shell(user string, argv ...string) []string {
	return slices.Concat([]string{"shell", "--workdir=/", m.Name, "sudo", "-n", "-H", "-u", user, "--"}, argv)
}

// Command is a command in a machine as the user without rights, in a directory there. Its
// streams are the caller's to set.
func (p *Program) Command(ctx context.Context, m *Machine, dir string, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, m.shell(Agent, slices.Concat([]string{"sh", "-c", `cd "$0" && exec "$@"`, dir}, argv)...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = p.Env, "/", endGrace
	return cmd
}

// Has says whether a command in a machine finds a program by its name.
func (p *Program) Has(ctx context.Context, m *Machine, name string) bool {
	_, err := p.do(ctx, askTime, nil, m.shell(Agent, "sh", "-c", `command -v "$0"`, name)...)
	return err == nil
}

// Relay is a relay that runs in a machine.
type Relay struct {
	cmd    *exec.Cmd
	in     io.Closer
	out    io.Closer
	told   *capped.Buffer
	served chan error // gets what serving ended with
	once   sync.Once
	err    error
}

// Place is a file or directory that is served: its path in the file system that the relay mounts,
// where it is in a machine, and its inode on this host.
type Place struct {
	From  string
	To    string
	Inode uint64
}

// relayScript runs the relay. When its stream ends, for whatever reason, nothing of what the
// command has started lives on.
const relayScript = `"$@"; s=$?; pkill -KILL -u ` + Agent + `; exit $s`

// StartRelay mounts the places in a machine, and waits until the machine has shown that they
// are those that are served, or the relay has ended. serve answers what the machine's kernel
// asks, until in ends.
func (p *Program) StartRelay(ctx context.Context, m *Machine, places []Place, serve Serve) (*Relay, error) {
	argv, ready := []string{"sh", "-c", relayScript, "sh", relayPath}, "ready"
	for _, at := range places {
		argv = append(argv, at.From, at.To)
		ready += fmt.Sprintf(" %d", at.Inode)
	}
	return p.startRelay(ctx, m, argv, ready, serve)
}

// StartListening listens at addresses in a machine, each as WHAT=ADDRESS, and carries what
// connects there to serve, as package streams does.
func (p *Program) StartListening(ctx context.Context, m *Machine, addresses []string, serve Serve) (*Relay, error) {
	return p.startRelay(ctx, m, append([]string{relayPath, "-listen", "-anew"}, addresses...), "ready", serve)
}

// StartAgent starts in a machine what starts commands there, see package guest.
func (p *Program) StartAgent(ctx context.Context, m *Machine, serve Serve) (*Relay, error) {
	return p.startRelay(ctx, m, []string{relayPath, "-serve", strconv.Itoa(AgentID)}, "ready", serve)
}

// Serve answers what comes from a machine, until in ends.
type Serve func(in io.Reader, out io.Writer) error

func (p *Program) startRelay(ctx context.Context, m *Machine, argv []string, ready string, serve Serve) (*Relay, error) {
	cmd := exec.CommandContext(ctx, p.Path, m.shell("root", argv...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay, cmd.SysProcAttr = p.Env, "/", endGrace, ownGroup
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	said, theirs, err3 := os.Pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	defer said.Close()
	cmd.Stderr = theirs
	err := cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	r := &Relay{cmd: cmd, in: in, out: out, told: &capped.Buffer{Most: maxErrors}, served: make(chan error, 1)}
	go func() { r.served <- serve(out, in) }()
	if err := r.awaited(said, ready); err != nil {
		return nil, explain("the relay in "+m.Name, errors.Join(err, r.Close()), r.told.Text())
	}
	return r, nil
}

var (
	errNotReady = errors.New("it ended before the directories were mounted")
	errOther    = errors.New("what is mounted there is not what is served")
)

// awaited reads what the relay says until it is ready, with the inodes that it sees. limactl
// may say something before.
func (r *Relay) awaited(said *os.File, ready string) error {
	if err := said.SetReadDeadline(time.Now().Add(askTime)); err != nil {
		return err
	}
	buf := make([]byte, 1<<10)
	for {
		n, err := said.Read(buf)
		_, _ = r.told.Write(buf[:n])
		for line := range strings.Lines(r.told.Text()) {
			switch {
			case !strings.HasPrefix(line, "ready") || !strings.HasSuffix(line, "\n"):
			case line == ready+"\n":
				return nil
			default:
				return errOther
			}
		}
		if errors.Is(err, io.EOF) || r.told.Full() {
			return errNotReady
		}
		if err != nil {
			return err
		}
	}
}

// Close ends the relay, which unmounts what it has mounted. One that does not end is killed, with
// what limactl has started to reach it.
func (r *Relay) Close() error {
	r.once.Do(func() {
		_ = r.in.Close()
		late := time.AfterFunc(endGrace, func() {
			killGroup(r.cmd.Process)
			_ = r.out.Close()
		})
		defer late.Stop()
		r.err = errors.Join(<-r.served, r.cmd.Wait())
	})
	return r.err
}
