package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"carrel/internal/hostprogram"
	"carrel/internal/policy"
)

// Program is a helper of the host that knows the person's credentials.
type Program struct{ *hostprogram.Program }

// also are the variables that one of them gets beside the usual ones.
var also = map[string][]string{
	"gh":  {"GH_CONFIG_DIR"},
	"gpg": {"GNUPGHOME", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"}, // the last three for a window that asks for a passphrase
}

// FindProgram looks for a helper in the system's directories.
func FindProgram(name string, getenv func(string) string) (*Program, error) {
	p, err := hostprogram.Find(name, getenv, also[name]...)
	if err != nil {
		return nil, err
	}
	return &Program{p}, nil
}

// Fill asks git outside for user and password.
func (p *Program) Fill(ctx context.Context, c *Credential) (Credential, error) {
	asked := *c
	asked.Password = ""
	in, err := asked.Format()
	if err != nil {
		return Credential{}, err
	}
	out, _, err := p.Run(ctx, in, maxCredentialReply, "-c", "core.askPass=", "credential", "fill")
	if err != nil {
		return Credential{}, fmt.Errorf("%w: it has none for it, or would have to ask", err)
	}
	return asked.Answers(out)
}

// maxToken bounds a token, in bytes.
const maxToken = 4 << 10

// Token asks gh outside for the token of a host.
func (p *Program) Token(ctx context.Context, host policy.CredentialHost) (string, error) {
	out, _, err := p.Run(ctx, nil, maxToken, "auth", "token", "--hostname", host.Name)
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
	out, told, err := p.Run(ctx, object, maxSignature, "--batch", "--no-tty", "--status-fd=2", "--local-user="+key, "--detach-sign", "--armor")
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
