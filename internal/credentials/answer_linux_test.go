package credentials

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/inside"
	"carrel/internal/keys"
	"carrel/internal/policy"
)

// said collects what a keyring tells of what is used and refused.
type said struct {
	denials []api.Denial
	records []api.AuditRecord
	notes   []string
}

// user makes the configuration of a workspace whose user has a home of their own, in which
// git's store knows a password.
func user(t *testing.T, uses ...policy.CredentialUse) (Config, *said) {
	t.Helper()
	home := t.TempDir()
	for name, text := range map[string]string{
		".gitconfig": "[credential]\n\thelper = store\n", ".git-credentials": "https://ada:s3cret@git.example\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told := &said{}
	c := fake(t)
	c.Home, c.Uses, c.Socket = home, uses, "/inside/agent"
	c.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	c.Deny = func(d api.Denial) { told.denials = append(told.denials, d) }
	c.Record = func(r api.AuditRecord) { told.records = append(told.records, r) }
	c.Note = func(format string, args ...any) { told.notes = append(told.notes, fmt.Sprintf(format, args...)) }
	return c, told
}

// answered asks a keyring as a helper inside does.
func answered(t *testing.T, c Config, req inside.Request, asked string) (inside.Reply, string) {
	t.Helper()
	k, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if k != nil {
		defer k.Close()
		k.Attach(nil)
	}
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		from := &io.LimitedReader{R: strings.NewReader(asked)}
		req.Size = int64(len(asked))
		k.Answer(far, bufio.NewReader(from), from, req)
	}()
	all, err := io.ReadAll(near)
	if err != nil {
		t.Fatal(err)
	}
	line, data, _ := strings.Cut(string(all), "\n")
	var reply inside.Reply
	if err := json.Unmarshal([]byte(line), &reply); err != nil || int64(len(data)) != reply.Size {
		t.Fatalf("%q, %q, %v", line, data, err)
	}
	return reply, data
}

func gitUse(hosts ...string) policy.CredentialUse {
	return policy.CredentialUse{Kind: policy.CredentialGit, Hosts: hosts, Source: policy.Source{Text: "user.yaml"}}
}

// TestLogins: git inside gets what git outside has for a listed host, and nothing else; what
// is told and written down names the host and no secret.
func TestLogins(t *testing.T) {
	asking := gitUse("git.example")
	asking.Ask = true
	withheld := func(string) *api.Denial { return &api.Denial{Message: "the workspace is held"} }
	for _, c := range []struct {
		name, asked string
		change      func(*Config)
		fails       string // of the message
		denial      string // its subject, and "-" for one that was told otherwise
	}{
		{"listed", "protocol=https\nhost=git.example\n", nil, "", ""},
		{"listed in small letters", "protocol=https\nhost=GIT.example\n", nil, "it has none for it", "https://git.example"}, // as git says
		{"not listed", "protocol=https\nhost=other.example\n", nil,
			"the host is not listed; the hosts of credentials.git", "https://other.example"},
		{"not known outside", "protocol=https\nhost=git.example\nusername=bob\n", nil, "it has none for it", "https://git.example"},
		{"no description", "nonsense\n", nil, "no attribute", "a host"},
		{"too long", strings.Repeat("a=b\n", keys.MaxCredential), nil, "the description is longer than", "a host"},
		{"settings that the inside writes", "protocol=https\nhost=git.example\n",
			func(c *Config) { c.WritableBelow = func(at string) bool { return filepath.Base(at) == ".gitconfig" } },
			"which programs inside can write", "https://git.example"},
		{"held", "protocol=https\nhost=git.example\n", func(c *Config) { c.Withheld = withheld }, "the workspace is held", "-"},
		{"nobody to ask", "protocol=https\nhost=git.example\n", func(c *Config) { c.Uses = []policy.CredentialUse{asking} },
			"a person has to allow it", "https://git.example"},
		{"no way in", "protocol=https\nhost=git.example\n", func(c *Config) { c.Reach = func() Reach { return Unreachable } },
			"may use no credentials", ""},
		{"none at all", "protocol=https\nhost=git.example\n", func(c *Config) { c.Uses = nil }, "may use no credentials", ""},
	} {
		cfg, told := user(t, gitUse("git.example"))
		if c.change != nil {
			c.change(&cfg)
		}
		reply, data := answered(t, cfg, inside.Request{Operation: inside.OpCredential}, c.asked)
		if c.fails == "" {
			if !reply.OK || !strings.Contains(data, "\nusername=ada\npassword=s3cret\n") || len(told.records) != 1 || len(told.denials) > 0 {
				t.Errorf("%s: %+v, %q, %+v", c.name, reply, data, told)
			}
		} else if reply.OK || data != "" || !strings.Contains(reply.Message, c.fails) || len(told.records) > 0 {
			t.Errorf("%s: %+v, %q, %+v", c.name, reply, data, told)
		}
		var subjects []string
		for _, d := range told.denials {
			subjects = append(subjects, cmp.Or(d.Subject, "-"))
		}
		if strings.Join(subjects, " ") != c.denial {
			t.Errorf("%s: denials %+v", c.name, told.denials)
		}
		if all := fmt.Sprintf("%+v%s", told, reply.Message); strings.Contains(all, "s3cret") {
			t.Errorf("%s: the password is told: %s", c.name, all)
		}
	}
}

// TestWhichToken: without a name the host of the repository is chosen, if it is listed. No
// token is there, and the refusal says for which host.
func TestWhichToken(t *testing.T) {
	uses := []policy.CredentialUse{{Kind: policy.CredentialGH, Hosts: []string{"first.example", "second.example"}}}
	for _, c := range []struct {
		host    string
		remotes []string
		want    string
	}{
		{"", nil, "first.example"},
		{"", []string{"elsewhere.example", "not a host", "second.example"}, "second.example"},
		{"second.example", nil, "second.example"},
		{"SECOND.example", nil, "second.example"},
		{"elsewhere.example", []string{"second.example"}, "elsewhere.example"},
		{"second.example:8443", nil, "second.example"},
		{"not a host", nil, "the usual host"},
	} {
		cfg, told := user(t, uses...)
		reply, _ := answered(t, cfg, inside.Request{Operation: inside.OpToken, Host: c.host, Remotes: c.remotes}, "")
		if reply.OK || len(told.denials) != 1 || told.denials[0].Subject != c.want || !strings.Contains(reply.Message, "credentials.gh") {
			t.Errorf("%+v: %+v, %+v", c, reply, told.denials)
		}
	}
	cfg, told := user(t)
	cfg.Uses = []policy.CredentialUse{gitUse("git.example")}
	if reply, _ := answered(t, cfg, inside.Request{Operation: inside.OpSign}, "tree"); reply.OK || told.denials[0].Subject != "something" {
		t.Errorf("a signature without a key: %+v, %+v", reply, told.denials)
	}
}

// TestWhatLeadsThere: the inside finds helpers, sockets and settings for what may be used,
// and none where there is no way to the keyring.
func TestWhatLeadsThere(t *testing.T) {
	const print = "SHA256:" + "0123456789012345678901234567890123456789012"
	for kind, want := range map[policy.CredentialKind]string{
		policy.CredentialGit:     inside.GitHelper + "  helper",
		policy.CredentialGH:      inside.GitHelper + " " + inside.GHHelper + "  helper",
		policy.CredentialSSH:     " /inside/agent ",
		policy.CredentialSignGPG: inside.GPGHelper + "  openpgp ABCDEF0123456789",
	} {
		use := policy.CredentialUse{Kind: kind, Hosts: []string{"a.example"}, Key: "ABCDEF0123456789"}
		if kind == policy.CredentialSSH {
			use.Key = print
		}
		for _, reach := range []Reach{Filtered, Unfiltered, Unreachable} {
			cfg, told := user(t, use)
			cfg.Reach = func() Reach { return reach }
			k, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			git := k.Git()
			got := strings.Join(k.helpers(), " ") + " " + strings.Join(k.Sockets(), " ") + " "
			if git.Helper != "" {
				got += "helper"
			}
			got += strings.TrimSpace(git.Format + " " + git.SigningKey)
			if reach == Filtered && got != want || reach != Filtered && len(k.helpers())+len(k.Sockets())+len(k.Env())+len(k.Links()) > 0 {
				t.Errorf("%s, reach %d: %q, want %q", kind, reach, got, want)
			}
			before := len(told.notes)
			if k.Announce(); (len(told.notes) > before) != (reach != Filtered) {
				t.Errorf("%s, reach %d: told %q", kind, reach, told.notes[before:])
			}
			k.Close()
		}
	}
}

// TestKeysThatAreNotThere: a file that is no public key ends the start, and an agent that is
// not there does not: a key is lent by its fingerprint once the agent is.
func TestKeysThatAreNotThere(t *testing.T) {
	at := t.TempDir()
	private, large := filepath.Join(at, "id"), filepath.Join(at, "large")
	for name, size := range map[string]int{private: 10, large: maxPublicKey + 1} {
		if err := os.WriteFile(name, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{private, large, at, at + "/absent"} {
		cfg, _ := user(t, policy.CredentialUse{Kind: policy.CredentialSSH, Key: key, Source: policy.Source{Text: "user.yaml"}})
		k, err := Open(cfg)
		var with *advice.Error
		if k != nil || !errors.As(err, &with) || !strings.Contains(err.Error(), fmt.Sprintf("%q", key)) || !strings.Contains(with.Hint, ".pub") {
			t.Errorf("%s: %v", key, err)
		}
	}
	const print = "SHA256:" + "0123456789012345678901234567890123456789012"
	cfg, told := user(t,
		policy.CredentialUse{Kind: policy.CredentialSSH, Key: "ada@laptop", Hosts: []string{"a.example"}},
		policy.CredentialUse{Kind: policy.CredentialSSH, Key: print, Hosts: []string{"b.example"}},
		policy.CredentialUse{Kind: policy.CredentialSignSSH, Key: print})
	k, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	var left []string
	for _, u := range k.uses {
		left = append(left, string(u.Kind)+" "+u.Key)
	}
	if want := []string{"ssh " + print, string(policy.CredentialSignSSH) + " " + print}; !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
	for _, want := range []string{"no key is lent by this name", "commits are not signed", "no key of the host b.example is in"} {
		if !slices.ContainsFunc(told.notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no note %q in %q", want, told.notes)
		}
	}
}
