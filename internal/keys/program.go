package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"carrel/internal/capped"
	"carrel/internal/policy"
)

// programTime bounds a helper of the host. Some ask the person.
const programTime = 90 * time.Second

// programGrace is how long its output is waited for after its end: what it has left
// behind, as an agent, may hold it.
const programGrace = 2 * time.Second

// programDirs are where helpers of the host are looked for, and the PATH that they get.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin"}

// Program is a helper of the host.
type Program struct {
	Path string
	Env  []string
}

// passed are the variables that helpers get: where they keep things, and how they
// reach the person's keyring. None that names a program, a key or a configuration that
// git would take from a project.
var passed = []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}

// also are those that one of them gets beside.
var also = map[string][]string{
	"gh":  {"GH_CONFIG_DIR"},
	"gpg": {"GNUPGHOME", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"}, // the last three for a window that asks for a passphrase
}

// FindProgram looks for a helper in the system's directories: a PATH may have been
// written by anybody.
func FindProgram(name string, getenv func(string) string) (*Program, error) {
	for _, dir := range programDirs {
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
			continue
		}
		p := &Program{Path: at, Env: []string{"PATH=" + strings.Join(programDirs, ":"), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never", "GH_PROMPT_DISABLED=1"}}
		for _, v := range append(append([]string{}, passed...), also[name]...) {
			if text := getenv(v); text != "" {
				p.Env = append(p.Env, v+"="+text)
			}
		}
		return p, nil
	}
	return nil, fmt.Errorf("there is no %s in %s", name, strings.Join(programDirs, ", "))
}

// run starts it in the root directory, where no project is, and gives what it says. What
// it says about errors stays with it: it may name secrets.
func (p *Program) run(ctx context.Context, in []byte, most int, args ...string) (out, status []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	said, told := &capped.Buffer{Most: most, Over: cancel}, &capped.Buffer{Most: most, Over: cancel}
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Env, "/", bytes.NewReader(in), said, told
	cmd.WaitDelay = programGrace
	apart(cmd)
	name := filepath.Base(p.Path)
	runtime.LockOSThread() // its death signal comes when the thread ends that started it
	defer runtime.UnlockOSThread()
	switch err = cmd.Run(); {
	case said.Full() || told.Full():
		return nil, nil, fmt.Errorf("%s outside said more than %d bytes", name, most)
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%s outside took longer than %s, or nobody waits for it any more", name, programTime)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, nil, fmt.Errorf("%s outside: %w", name, err)
	}
	return said.Bytes(), told.Bytes(), nil
}

// Fill asks git outside for user and password.
func (p *Program) Fill(ctx context.Context, c *Credential) (Credential, error) {
	asked := *c
	asked.Password = ""
	in, err := asked.Format()
	if err != nil {
		return Credential{}, err
	}
	out, _, err := p.run(ctx, in, maxCredentialReply, "-c", "core.askPass=", "credential", "fill")
	if err != nil {
		return Credential{}, fmt.Errorf("%w: it has none for it, or would have to ask", err)
	}
	return asked.Answers(out)
}

// maxToken bounds a token, in bytes.
const maxToken = 4 << 10

// Token asks gh outside for the token of a host.
func (p *Program) Token(ctx context.Context, host policy.CredentialHost) (string, error) {
	out, _, err := p.run(ctx, nil, maxToken, "auth", "token", "--hostname", host.Name)
	if err != nil {
		return "", fmt.Errorf("%w: `gh auth login --hostname %s` there logs in", err, host.Name)
	}
	token := strings.TrimRight(string(out), "\r\n")
	if token == "" || hasControl(token) || strings.ContainsRune(token, ' ') {
		return "", errors.New("what gh outside gave is no token")
	}
	return token, nil
}

// Sign has gpg outside sign a commit or a tag of git. It gives the signature, and what
// gpg says of it for programs, which git reads.
func (p *Program) Sign(ctx context.Context, key string, object []byte) (signature, status []byte, err error) {
	if _, err := ParseObject(object); err != nil {
		return nil, nil, err
	}
	if bad := policy.BadSigningKey(key); bad != "" {
		return nil, nil, errors.New(bad)
	}
	out, told, err := p.run(ctx, object, maxSignature, "--batch", "--no-tty", "--status-fd=2", "--local-user="+key, "--detach-sign", "--armor")
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the key is not there, or its passphrase could not be asked for", err)
	}
	var lines []string
	for line := range strings.SplitSeq(string(told), "\n") {
		if strings.HasPrefix(line, statusMark+"SIG_CREATED ") && !hasControl(line) {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(string(out), "-----BEGIN PGP SIGNATURE-----\n") {
		return nil, nil, errors.New("what gpg outside gave is no signature")
	}
	return out, []byte("\n" + lines[0] + "\n"), nil
}

const (
	maxSignature = 64 << 10
	statusMark   = "[GNUPG:] "
)
