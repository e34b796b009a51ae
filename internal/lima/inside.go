package lima

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/advice"
)

// Carrel in a machine is its program for Linux there, started as the user whom limactl makes, for
// a command line of this host.
type Carrel struct {
	Program  *Program
	Machine  *Machine
	Project  string
	User     []byte // the user's configuration, as it counts there
	Operator []byte // the operator's, likewise; nil where there is none
	// Programs gives the directory with the programs for Linux on an architecture, as Go names it.
	Programs func(arch string) (dir string, err error)
}

// programsDir is where the programs are in a machine, and digestPath what they are.
const (
	programsDir = "/usr/local/libexec/carrel"
	digestPath  = programsDir + "/digest"
)

// programs are those of Carrel that lie beside each other. The first one works without the others.
var programs = []string{"carrel", "carrel-stage", "carrel-file", "carrel-shim"}

// enterScript has the configuration of this host count in a machine, and says what the machine
// is. Its arguments are the project, and how long the user's part of its input is; what follows
// is the operator's.
const enterScript = waitScript + `set -u
[ -d "$1" ] || exit 47
umask 077
settings=$HOME/.config/carrel/config.yaml
mkdir -p "${settings%/*}" && head -c "$2" >"$settings.new" && mv "$settings.new" "$settings" || exit 46
umask 022
if [ "$3" = operator ]; then
	sudo -n sh -c 'mkdir -p /etc/carrel && cat >/etc/carrel/config.yaml' || exit 46
else
	sudo -n rm -f /etc/carrel/config.yaml || exit 46
fi
uname -m
cat ` + digestPath + ` 2>/dev/null || :
`

// Ready has a machine that runs take the configuration, and the programs where it has others.
func (c *Carrel) Ready(ctx context.Context) error {
	operator := "none"
	if c.Operator != nil {
		operator = "operator"
	}
	said, err := c.Program.do(ctx, startTime, io.MultiReader(bytes.NewReader(c.User), bytes.NewReader(c.Operator)),
		"shell", "--workdir=/", c.Machine.Name, "sh", "-c", enterScript, "carrel", c.Project, strconv.Itoa(len(c.User)), operator)
	if err != nil {
		return c.notReady(err)
	}
	word, digest, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	arch, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[word]
	if !ok {
		return fmt.Errorf("the machine %s is a %.40q, for which there is no carrel", c.Machine.Name, word)
	}
	dir, err := c.Programs(arch)
	if err != nil {
		return err
	}
	return c.equip(ctx, dir, digest)
}

func (c *Carrel) notReady(err error) error {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return err
	}
	switch exit.ExitCode() {
	case 41:
		return &advice.Error{Err: fmt.Errorf("the machine %s could not set itself up", c.Machine.Name),
			Hint: "see /var/log/cloud-init-output.log there"}
	case 46:
		return fmt.Errorf("the machine %s does not take the configuration: %w", c.Machine.Name, err)
	case 47:
		return &advice.Error{Err: fmt.Errorf("the project %s is not there in the machine %s", c.Project, c.Machine.Name),
			Hint: "`limactl shell " + c.Machine.Name + "` shows what is mounted; `carrel lima recreate` makes the machine anew"}
	}
	return err
}

// equip puts the programs of a directory into the machine, unless those are there that it has.
func (c *Carrel) equip(ctx context.Context, dir, has string) error {
	sum, texts := sha256.New(), make(map[string][]byte)
	for i, name := range programs {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &advice.Error{Err: fmt.Errorf("there is no %s for the machine: %w", name, err),
				Hint: "`make cross` builds the programs for Linux, and they belong there"}
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(text))
		sum.Write(text)
		texts[name] = text
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	if digest == has {
		return nil
	}
	c.Program.tell("putting Carrel's programs into the machine " + c.Machine.Name)
	put := func(name, mode string, text []byte) error {
		at := programsDir + "/" + name
		const script = `mkdir -p "${0%/*}" && install -m "$1" /dev/stdin "$0.new" && mv "$0.new" "$0"`
		_, err := c.Program.do(ctx, askTime, bytes.NewReader(text), "shell", "--workdir=/", c.Machine.Name,
			"sudo", "-n", "sh", "-c", script, at, mode)
		return err
	}
	for name, text := range texts {
		if err := put(name, "755", text); err != nil {
			return err
		}
	}
	return put(filepath.Base(digestPath), "644", []byte(digest+"\n"))
}

// callScript runs a command line, without the words by which the machine is known, and notes the number of its shell while it runs, in a file that
// is named by the call.
const callScript = `unset ` + wordWorkspace + ` ` + wordTemplate + `
at=$HOME/.local/state/carrel-call-$0
mkdir -p "${at%/*}" && echo $$ >"$at" || exit 125
trap : INT QUIT TERM HUP
"$@"
s=$?
rm -f "$at"
exit $s
`

// Command runs a command line of carrel's in a directory of the machine. The call is a word that
// no other one has: see Signal.
func (c *Carrel) Command(ctx context.Context, dir, call string, args []string) *exec.Cmd {
	words := []string{"shell", "--workdir=" + dir, c.Machine.Name, "sh", "-c", callScript, call, programsDir + "/carrel"}
	cmd := exec.CommandContext(ctx, c.Program.Path, slices.Concat(words, args)...)
	cmd.Env, cmd.Dir = c.Program.Env, "/"
	return cmd
}

// Signal sends a signal, by its name without SIG, to the carrel of a call; none where that is over.
func (c *Carrel) Signal(ctx context.Context, call, name string) error {
	const script = `at=$HOME/.local/state/carrel-call-$0
[ ! -e "$at" ] || pkill "-$1" -P "$(cat "$at")"
[ $? -le 1 ]`
	_, err := c.Program.do(ctx, askTime, nil, "shell", "--workdir=/", c.Machine.Name, "sh", "-c", script, call, name)
	return err
}
