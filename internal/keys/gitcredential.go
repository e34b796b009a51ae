package keys

import (
	"errors"
	"fmt"
	"strings"

	"carrel/internal/policy"
)

// Bounds of git's credential protocol, gitcredentials(7).
const (
	MaxCredential      = 8 << 10  // of a request, in bytes
	maxCredentialReply = 64 << 10 // of what helpers outside answer
	maxCredentialLine  = 2 << 10  // of a value that is passed on
	httpsPort          = 443
)

// Credential is what git asks, or is told: only what is passed on of it.
type Credential struct {
	Protocol string
	Host     string // with :PORT
	Username string
	Password string
}

// ParseCredential reads a description, as helpers get and give it: a line for each
// attribute, an empty line or the end behind them. Attributes that are not passed on
// are left out.
func ParseCredential(data []byte) (Credential, error) {
	var c Credential
	if len(data) > maxCredentialReply {
		return c, fmt.Errorf("the description is longer than %d bytes", maxCredentialReply)
	}
	seen := make(map[string]bool)
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" {
			break
		}
		name, text, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			return c, errors.New("a line of the description is no attribute")
		}
		to := map[string]*string{"protocol": &c.Protocol, "host": &c.Host, "username": &c.Username, "password": &c.Password}[name]
		if to == nil {
			if name == "url" { // stands for several, and would have to be taken apart as git does it
				return c, errors.New("a url instead of protocol and host is not understood")
			}
			continue
		}
		if seen[name] {
			return c, fmt.Errorf("the attribute %s stands twice", name)
		}
		if seen[name] = true; len(text) > maxCredentialLine || hasControl(text) {
			return c, fmt.Errorf("the attribute %s is longer than %d bytes, or has bytes that are no text", name, maxCredentialLine)
		}
		*to = text
	}
	return c, nil
}

// hasControl finds what ends a line or a text for whoever reads it next.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// Target is the host that a request is about; with an error where it is about something
// that no host can be allowed for.
func (c *Credential) Target() (policy.CredentialHost, error) {
	if c.Protocol != "https" {
		return policy.CredentialHost{}, fmt.Errorf("credentials are given for https alone, not for %.20q", c.Protocol)
	}
	h, err := policy.ParseCredentialHost(c.Host)
	if err == nil && h.Below {
		err = fmt.Errorf("%.80q is no host", c.Host)
	}
	return h, err
}

// Format writes it as git reads it. What could be read as something else is an error.
func (c *Credential) Format() ([]byte, error) {
	var b strings.Builder
	for _, one := range [][2]string{{"protocol", c.Protocol}, {"host", c.Host}, {"username", c.Username}, {"password", c.Password}} {
		if hasControl(one[1]) || len(one[1]) > maxCredentialLine {
			return nil, fmt.Errorf("the attribute %s cannot be written in a line", one[0])
		}
		if one[1] != "" {
			b.WriteString(one[0] + "=" + one[1] + "\n")
		}
	}
	return []byte(b.String() + "\n"), nil
}

// Answers reads what helpers outside gave for a request: a user and a password for that
// very host, or an error.
func (c *Credential) Answers(data []byte) (Credential, error) {
	got, err := ParseCredential(data)
	switch {
	case err != nil:
		return Credential{}, err
	case got.Protocol != c.Protocol || !strings.EqualFold(got.Host, c.Host) || c.Username != "" && got.Username != c.Username:
		return Credential{}, errors.New("the answer is about something else than was asked")
	case got.Password == "" || got.Username == "":
		return Credential{}, errors.New("there is none for it")
	}
	return got, nil
}

// Find gives the first use of a kind that covers a host, nil for none.
func Find(uses []policy.CredentialUse, kind policy.CredentialKind, host policy.CredentialHost) *policy.CredentialUse {
	for i := range uses {
		if uses[i].Kind != kind {
			continue
		}
		for _, text := range uses[i].Hosts {
			if h, err := policy.ParseCredentialHost(text); err == nil && h.Covers(host, httpsPort) {
				return &uses[i]
			}
		}
	}
	return nil
}

// First gives the first use of a kind, nil for none.
func First(uses []policy.CredentialUse, kind policy.CredentialKind) *policy.CredentialUse {
	for i := range uses {
		if uses[i].Kind == kind {
			return &uses[i]
		}
	}
	return nil
}
