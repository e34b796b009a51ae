package lima

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"carrel/internal/advice"
	"carrel/internal/capped"
)

const (
	askTime   = 30 * time.Second
	startTime = 15 * time.Minute // an image is fetched, and a system starts for the first time
	endGrace  = 5 * time.Second
	maxAnswer = 8 << 20
	maxErrors = 8 << 10
)

// Program is limactl.
type Program struct {
	Path    string // absolute
	Version string
	Env     []string
	Tell    func(text string) // what takes long, a line at a time; nil tells it to no reader
}

func (p *Program) tell(text string) {
	if p.Tell != nil {
		p.Tell(text)
	}
}

// passed are the variables that limactl is given: what finds its files and QEMU, and no more.
var passed = []string{"HOME", "PATH", "LIMA_HOME", "XDG_CACHE_HOME", "QEMU_SYSTEM_X86_64", "QEMU_SYSTEM_AARCH64", "USER", "LANG", "TMPDIR"}

// Find finds limactl by the person's PATH and says whether it can be used.
func Find(ctx context.Context, environ []string, uid int) (*Program, error) {
	if uid == 0 {
		return nil, &advice.Error{Err: errors.New("limactl refuses to run as root"), Hint: "run carrel as an ordinary user"}
	}
	p := &Program{}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		for _, allowed := range passed {
			if name == allowed {
				p.Env = append(p.Env, v)
			}
		}
	}
	p.Path = Lookup(p.Env, "limactl")
	if p.Path == "" {
		return nil, &advice.Error{
			Err:  errors.New("there is no limactl in PATH"),
			Hint: "install Lima 1.0 or newer (lima-vm.io), or use another backend",
		}
	}
	out, err := p.do(ctx, askTime, nil, "--version")
	if err != nil {
		return nil, err
	}
	p.Version, err = versionOf(string(out))
	return p, err
}

// Lookup gives the path of the program that the PATH of an environment finds first, "" for none.
func Lookup(environ []string, name string) string {
	for _, dir := range filepath.SplitList(valueOf(environ, "PATH")) {
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); filepath.IsAbs(dir) && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// QEMU gives the command of QEMU for machines of this host's architecture, as limactl reads it: a
// variable may name another program than the usual one, with arguments.
func QEMU(environ []string) []string {
	arch := Arch()
	if words := strings.Fields(valueOf(environ, "QEMU_SYSTEM_"+strings.ToUpper(arch))); len(words) > 0 {
		return words
	}
	return []string{"qemu-system-" + arch}
}

func valueOf(env []string, name string) string {
	for _, v := range env {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			return text
		}
	}
	return ""
}

// versionOf reads "limactl version 1.2.2" and refuses what is older than 1.0.
func versionOf(said string) (string, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(said), "limactl version ")
	number, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), "-")
	major, minor, _ := strings.Cut(number, ".")
	n, err := strconv.Atoi(major)
	if !ok || err != nil || minor == "" {
		return "", fmt.Errorf("limactl says its version is %.100q, which cannot be read", said)
	}
	if n < 1 {
		return "", &advice.Error{Err: fmt.Errorf("limactl is version %s, and 1.0 is needed", number), Hint: "install a newer Lima"}
	}
	return number, nil
}

// do starts limactl, waits for it and gives what it said. It ends with this process, however that ends: the
// next start would come across one that goes on with a machine.
func (p *Program) do(ctx context.Context, limit time.Duration, in io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, args...)
	said, told := &capped.Buffer{Most: maxAnswer, Over: cancel}, &capped.Buffer{Most: maxErrors}
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.Env, "/", in, said, told, endGrace
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	runtime.LockOSThread() // a thread is what it ends with
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = endsWithUs
	err := cmd.Run()
	what := "limactl " + args[0]
	switch {
	case said.Full():
		return nil, fmt.Errorf("%s said more than %d bytes", what, maxAnswer)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &advice.Error{Err: fmt.Errorf("%s took longer than %s", what, limit), Hint: "see `limactl list` and the files of the machine"}
	case err != nil:
		return nil, explain(what, err, told.Text())
	}
	return said.Bytes(), nil
}

// explain says what failed, with the fix where there is a known one.
func explain(what string, err error, told string) error {
	lines := strings.Split(strings.TrimSpace(told), "\n")
	last := lines[len(lines)-1]
	if len(last) > 500 {
		last = last[:500]
	}
	e := fmt.Errorf("%s: %w: %s", what, err, last)
	switch {
	case strings.Contains(strings.ToLower(told), "kvm"):
		return &advice.Error{Err: e, Hint: "this user cannot open /dev/kvm: `carrel doctor` says why, and what to do"}
	case strings.Contains(told, "qemu-system") && strings.Contains(told, "not found"):
		return &advice.Error{Err: e, Hint: "install QEMU: the package qemu-system of your distribution"}
	case strings.Contains(strings.ToLower(told), "no space left on device"):
		return &advice.Error{Err: e, Hint: "make room where Lima keeps its machines (~/.lima, or LIMA_HOME); " +
			"`carrel lima prune` removes those of projects that are gone"}
	}
	return e
}
