package policy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CredentialsMode says whether any credential of the user's may be used inside.
// Widening order: off < on.
type CredentialsMode string

const (
	CredentialsOff CredentialsMode = "off"
	CredentialsOn  CredentialsMode = "on" // what the user's configuration lists
)

func credentialsRank(m CredentialsMode) int { return rankOf(m, CredentialsOff, CredentialsOn) }

// CredentialKind says what a credential is used for.
type CredentialKind string

const (
	CredentialGit     CredentialKind = "git"      // user and password of a host, over https
	CredentialGH      CredentialKind = "gh"       // the token of GitHub's command line
	CredentialSSH     CredentialKind = "ssh"      // a key of the agent, to log in to hosts
	CredentialSignSSH CredentialKind = "sign.ssh" // a key of the agent, for commits and tags
	CredentialSignGPG CredentialKind = "sign.gpg" // a key of gpg, for commits and tags
)

// CredentialUse is one use of a credential that the user has allowed. What is used
// stays outside.
type CredentialUse struct {
	Kind   CredentialKind
	Key    string   // of ssh and the signing ones
	Hosts  []string // of the others: as [ParseCredentialHost] takes them
	Ask    bool     // each time a person is asked
	Source Source
}

// String is the use as a person would say it.
func (u CredentialUse) String() string {
	var parts []string
	if u.Key != "" {
		parts = append(parts, u.Key)
	}
	if len(u.Hosts) > 0 {
		parts = append(parts, strings.Join(u.Hosts, ", "))
	}
	text := string(u.Kind) + ": " + strings.Join(parts, " for ")
	if u.Ask {
		text += " (ask)"
	}
	return text
}

// CredentialHost is a host, or all below one.
type CredentialHost struct {
	Name  string // lower case; of below ones without "*."
	Below bool   // hosts below it, and not itself
	Port  uint16 // 0: the usual one
}

// ParseCredentialHost reads github.com, git.example.com:8443, [::1]:8443 or
// *.example.com. Names are compared by their letters: no address is looked up.
func ParseCredentialHost(text string) (CredentialHost, error) {
	var h CredentialHost
	name := text
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasSuffix(name, "]") {
		port, err := strconv.ParseUint(name[i+1:], 10, 16)
		if err != nil || port == 0 || name[i+1] == '0' || name[i+1] == '+' {
			return h, fmt.Errorf("%.80q is no host: want a name like github.com, with :PORT where it is not the usual one", text)
		}
		name, h.Port = name[:i], uint16(port)
	}
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		name, h.Below = rest, true
	}
	h.Name = strings.ToLower(name)
	if bracketed := strings.HasPrefix(h.Name, "["); bracketed {
		h.Name = strings.TrimSuffix(h.Name[1:], "]")
		if h.Below || strings.Trim(h.Name, "0123456789abcdef:.") != "" || h.Name == "" {
			return CredentialHost{}, fmt.Errorf("%.80q is no host: in brackets there is an IPv6 address", text)
		}
		return h, nil
	}
	if !plainHost(h.Name) || h.Below && !strings.Contains(h.Name, ".") {
		return CredentialHost{}, fmt.Errorf("%.80q is no host: want a name like github.com or *.example.com, without scheme, user and path", text)
	}
	return h, nil
}

func plainHost(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || label[0] == '-' {
			return false
		}
	}
	return true
}

// Covers says whether a host, which is no pattern, is meant. usual is the port that
// needs not be said.
func (h CredentialHost) Covers(o CredentialHost, usual uint16) bool {
	port := func(p uint16) uint16 {
		if p == 0 {
			return usual
		}
		return p
	}
	if o.Below || port(h.Port) != port(o.Port) {
		return false
	}
	if h.Below {
		return strings.HasSuffix(o.Name, "."+h.Name)
	}
	return h.Name == o.Name
}

// BadCredentialKey says what is wrong with the name of an ssh key, "" if nothing: a
// fingerprint, the absolute path of a public key, or the comment of one.
func BadCredentialKey(text string) string {
	switch {
	case text == "" || len(text) > 4096 || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return fmt.Sprintf("%.80q is no key: want SHA256:FINGERPRINT, the path of its public key, or its comment", text)
	case strings.HasPrefix(text, "/") && path.Clean(text) != text:
		return fmt.Sprintf("%.80q is no plain path", text)
	}
	return ""
}

// BadSigningKey says what is wrong with the name of a gpg key, "" if nothing.
func BadSigningKey(text string) string {
	id := strings.TrimPrefix(strings.TrimSuffix(strings.ToUpper(text), "!"), "0X")
	if n := len(id); strings.Trim(id, "0123456789ABCDEF") != "" || n != 16 && n != 32 && n != 40 && n != 64 {
		return fmt.Sprintf("%.80q is no gpg key: want the long id or the fingerprint, as `gpg --list-secret-keys --keyid-format=long` shows it", text)
	}
	return ""
}

// CheckCredentials refuses uses that ceilings do not let be: an [Errors], or nil.
func CheckCredentials(ceilings []*Ceiling, uses []CredentialUse) error {
	var errs Errors
	for _, c := range ceilings {
		if c == nil || c.Credentials == nil || c.Credentials.V == CredentialsOn {
			continue
		}
		for _, u := range uses {
			errs = append(errs, &Refusal{Dimension: DimCredentials, Requested: u.String(), Allowed: string(CredentialsOff), Source: c.Credentials.Source, Asked: u.Source})
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}

// AddCredentials puts what may be used among the reasons of the policy.
func (e *Effective) AddCredentials(uses []CredentialUse) {
	for _, u := range uses {
		e.Credentials = append(e.Credentials, u)
		e.Reasons = append(e.Reasons, Reason{Dimension: DimCredentials, Value: u.String(), Source: u.Source})
	}
	e.Credentials = slices.Clip(e.Credentials)
}
