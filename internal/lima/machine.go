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
	"strings"
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
			Config            struct{ Env map[string]string }
		}
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what limactl lists: %w", err)
		}
		m := Machine{Name: one.Name, Status: one.Status, Dir: one.Dir}
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
		if err := p.create(ctx, namePrefix+s.Workspace, text); err != nil {
			return nil, err
		}
		m = &Machine{Name: namePrefix + s.Workspace, Workspace: s.Workspace, Mark: mark}
	}
	if err := m.Differs(mark); err != nil {
		return nil, err
	}
	if m.Status != "Running" {
		if _, err := p.do(ctx, startTime, nil, "start", "--tty=false", m.Name); err != nil {
			return nil, err
		}
		m.Status = "Running"
	}
	return m, p.holds(ctx, m, s)
}

// holds asks the kernel of a machine for what the template promises: a script that fails there
// does not keep limactl from calling the machine ready.
func (p *Program) holds(ctx context.Context, m *Machine, s *Spec) error {
	if _, err := p.do(ctx, askTime, nil, m.shell(Agent, "/", []string{"true"})...); err != nil {
		return fmt.Errorf("the machine has no user for commands: %w", err)
	}
	rooted := []string{"sh", "-c", "sudo -n true 2>/dev/null && echo root; true"}
	if out, err := p.do(ctx, askTime, nil, m.shell(Agent, "/", rooted)...); err != nil || len(out) > 0 {
		return errors.Join(fmt.Errorf("the user for commands can become root in %s", m.Name), err)
	}
	if s.Network != NetworkClosed {
		return nil
	}
	out, err := p.do(ctx, askTime, nil, m.shell("root", "/", []string{"nft", "list", "chain", "inet", "carrel", "out"})...)
	if err == nil && !bytes.Contains(out, []byte("policy drop")) {
		err = errors.New("the rules are not there")
	}
	if err != nil {
		return &advice.Error{
			Err:  fmt.Errorf("the network of %s is not closed: %w", m.Name, err),
			Hint: "see /var/log/cloud-init-output.log there: the image takes nftables and systemd",
		}
	}
	return nil
}

// fuseMagic is the type of a FUSE file system, as stat(1) prints it.
const fuseMagic = "65735546"

// CheckRoot asks a machine whether a place is the directory of the host that is served, by
// its inode and its file system, before the first command.
func (p *Program) CheckRoot(ctx context.Context, m *Machine, place string, inode uint64) error {
	script := `stat -c %i "$1" && stat -f -c %t "$1"`
	out, err := p.do(ctx, askTime, nil, m.shell(Agent, "/", []string{"sh", "-c", script, "sh", place})...)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%d\n%s\n", inode, fuseMagic); string(out) != want {
		return fmt.Errorf("%s in %s is not the project: it says %.100q, and not %q", place, m.Name, out, want)
	}
	return nil
}

// create gives limactl the template by its standard input: no file of it lies around.
func (p *Program) create(ctx context.Context, name string, template []byte) error {
	_, err := p.do(ctx, startTime, bytes.NewReader(template), "create", "--tty=false", "--name="+name, "-")
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

// Prune takes away the machines of workspaces that are gone, and gives their names.
func (p *Program) Prune(ctx context.Context, keep func(workspace string) bool) (gone []string, err error) {
	list, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if keep(m.Workspace) {
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
// never asks, "--" so that nothing of the command is sudo's.
func (m *Machine) shell(user, dir string, argv []string) []string {
	return slices.Concat([]string{"shell", "--workdir=" + dir, m.Name, "sudo", "-n", "-u", user, "--"}, argv)
}

// Command is a command in a machine as the user without rights, in a directory there. Its
// streams are the caller's to set.
func (p *Program) Command(ctx context.Context, m *Machine, dir string, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, m.shell(Agent, dir, argv)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = p.Env, "/", endGrace
	return cmd
}

// EndCommands kills what an earlier command has left of its processes in a machine.
func (p *Program) EndCommands(ctx context.Context, m *Machine) error {
	script := "pkill -KILL -u " + Agent + "; [ $? -le 1 ]" // 1: there was none
	_, err := p.do(ctx, askTime, nil, m.shell("root", "/", []string{"sh", "-c", script})...)
	return err
}

// PutRelay puts the relay into a machine.
func (p *Program) PutRelay(ctx context.Context, m *Machine, program io.Reader) error {
	_, err := p.do(ctx, stopTime, program, m.shell("root", "/", []string{"install", "-m", "755", "/dev/stdin", relayPath})...)
	return err
}

// Relay is a relay that runs in a machine.
type Relay struct {
	cmd    *exec.Cmd
	in     io.Closer
	told   *capped.Buffer
	served chan error // gets what serving ended with
}

// StartRelay mounts the places in a machine, and waits until they are there or the relay has
// ended. serve answers what the machine's kernel asks, until in ends.
func (p *Program) StartRelay(
	ctx context.Context, m *Machine, places []string, serve func(in io.Reader, out io.Writer) error,
) (*Relay, error) {
	cmd := exec.CommandContext(ctx, p.Path, m.shell("root", "/", append([]string{relayPath}, places...))...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = p.Env, "/", endGrace
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
	r := &Relay{cmd: cmd, in: in, told: &capped.Buffer{Most: maxErrors}, served: make(chan error, 1)}
	go func() { r.served <- serve(out, in) }()
	if err := r.awaited(said); err != nil {
		return nil, explain("the relay in "+m.Name, errors.Join(err, r.Close()), r.told.Text())
	}
	return r, nil
}

var errNotReady = errors.New("it ended before the directories were mounted")

// awaited reads what the relay says until it is ready. limactl may say something before.
func (r *Relay) awaited(said *os.File) error {
	if err := said.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	buf := make([]byte, 1<<10)
	for {
		n, err := said.Read(buf)
		_, _ = r.told.Write(buf[:n])
		if strings.HasSuffix(r.told.Text(), "ready\n") {
			return nil
		}
		if errors.Is(err, io.EOF) || r.told.Full() {
			return errNotReady
		}
		if err != nil {
			return err
		}
	}
}

// Close ends the relay, which unmounts what it has mounted. One that does not end is killed.
func (r *Relay) Close() error {
	_ = r.in.Close()
	late := time.AfterFunc(endGrace, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	return errors.Join(<-r.served, r.cmd.Wait())
}
