package keys

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/policy"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

func newSigner(t testing.TB) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s, private
}

// desk is a filter before an agent with two keys, and a known host.
type desk struct {
	t           *testing.T
	agent       *SSHAgent
	ring        agent.Agent
	mine, other ssh.PublicKey
	host        ssh.Signer
	session     []byte

	mu   sync.Mutex
	used []Use
	no   []Use
}

func newDesk(t *testing.T, uses ...policy.CredentialUse) *desk {
	d := &desk{t: t, session: bytes.Repeat([]byte{9}, 32)}
	ring := agent.NewKeyring()
	d.ring = ring
	for _, comment := range []string{"mine", "other"} {
		s, private := newSigner(t)
		if err := ring.Add(agent.AddedKey{PrivateKey: private, Comment: comment}); err != nil {
			t.Fatal(err)
		}
		if comment == "mine" {
			d.mine = s.PublicKey()
		} else {
			d.other = s.PublicKey()
		}
	}
	d.host, _ = newSigner(t)
	for i := range uses {
		if uses[i].Key == "mine" {
			uses[i].Key = ssh.FingerprintSHA256(d.mine)
		}
	}
	d.agent = &SSHAgent{Uses: uses, Known: ParseKnownHosts([]byte("github.com " + string(ssh.MarshalAuthorizedKey(d.host.PublicKey())))),
		Dial: func(context.Context) (net.Conn, error) {
			a, b := net.Pipe()
			go func() { _ = agent.ServeAgent(ring, b); b.Close() }()
			return a, nil
		},
		Allowed: func(context.Context, Use) error { return nil },
		Used: func(u Use) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.used = append(d.used, u)
		},
		Refused: func(u Use) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.no = append(d.no, u)
		}}
	return d
}

// why is what the last refusal said.
func (d *desk) why() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.no) == 0 {
		return ""
	}
	return d.no[len(d.no)-1].Why.Error()
}

func (d *desk) connect() agent.ExtendedAgent {
	a, b := net.Pipe()
	d.t.Cleanup(func() { a.Close() })
	go func() { d.agent.Connection(d.t.Context(), b); b.Close() }()
	return agent.NewClient(a)
}

// bind tells of a host, whose key signs.
func (d *desk) bind(a agent.ExtendedAgent, host ssh.Signer, session []byte, forwarding bool) error {
	sig, err := host.Sign(rand.Reader, session)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = a.Extension(bindExtension, ssh.Marshal(struct {
		HostKey, Session, Signature []byte
		Forwarding                  bool
	}{host.PublicKey().Marshal(), session, ssh.Marshal(sig), forwarding}))
	return err
}

func (d *desk) login(key ssh.PublicKey) []byte {
	return login(d.session, key.Marshal(), "git", serviceLogin, methodKey, nil)
}

func forLogin() policy.CredentialUse {
	return policy.CredentialUse{Kind: policy.CredentialSSH, Key: "mine", Hosts: []string{"github.com"}}
}

func TestAgentShowsListedKeys(t *testing.T) {
	d := newDesk(t, forLogin())
	list, err := d.connect().List()
	if err != nil || len(list) != 1 || !bytes.Equal(list[0].Blob, d.mine.Marshal()) {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := newDesk(t).connect().List(); err != nil || len(list) != 0 {
		t.Errorf("with none: %v, %v", list, err)
	}
}

func TestAgentLogin(t *testing.T) {
	d := newDesk(t, forLogin())
	a := d.connect()
	if err := d.bind(a, d.host, d.session, false); err != nil {
		t.Fatal(err)
	}
	data := login(d.session, d.mine.Marshal(), "git", serviceLogin, methodBound, d.host.PublicKey().Marshal())
	for _, data := range [][]byte{d.login(d.mine), data} {
		sig, err := a.Sign(d.mine, data)
		if err != nil || d.mine.Verify(data, sig) != nil {
			t.Fatalf("%v: %s", err, d.why())
		}
	}
	if len(d.used) != 2 || d.used[0].Subject != `"git" at github.com` || d.used[0].Key != ssh.FingerprintSHA256(d.mine) {
		t.Errorf("told: %+v", d.used)
	}
}

func TestAgentRefuses(t *testing.T) {
	stranger, _ := newSigner(t)
	sum := make([]byte, 64)
	for _, c := range []struct {
		name string
		uses []policy.CredentialUse
		do   func(d *desk, a agent.ExtendedAgent) error
		why  string
	}{
		{"without a host", nil, func(d *desk, a agent.ExtendedAgent) error { return sign(a, d.mine, d.login(d.mine)) }, "does not say which host"},
		{"another key", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, d.host, d.session, false)
			return sign(a, d.other, d.login(d.other))
		}, "the key is not listed"},
		{"another key's login", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, d.host, d.session, false)
			return sign(a, d.mine, d.login(d.other))
		}, "neither a login"},
		{"another host", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, stranger, d.session, false)
			return sign(a, d.mine, d.login(d.mine))
		}, "none of github.com"},
		{"another session", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, d.host, bytes.Repeat([]byte{8}, 32), false)
			return sign(a, d.mine, d.login(d.mine))
		}, "for another connection"},
		{"a host beside", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, d.host, d.session, false)
			return sign(a, d.mine, login(d.session, d.mine.Marshal(), "git", serviceLogin, methodBound, stranger.PublicKey().Marshal()))
		}, "for another connection"},
		{"two hosts", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, stranger, d.session, false)
			_ = d.bind(a, d.host, d.session, false)
			return sign(a, d.mine, d.login(d.mine))
		}, "two hosts"},
		{"forwarded", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, d.host, d.session, true)
			return sign(a, d.mine, d.login(d.mine))
		}, "not forwarded"},
		{"a signature of somebody else's", nil, func(d *desk, a agent.ExtendedAgent) error {
			sig, _ := stranger.Sign(rand.Reader, d.session)
			_, _ = a.Extension(bindExtension, ssh.Marshal(struct {
				HostKey, Session, Signature []byte
				Forwarding                  bool
			}{d.host.PublicKey().Marshal(), d.session, ssh.Marshal(sig), false}))
			return sign(a, d.mine, d.login(d.mine))
		}, "has not signed this connection"},
		{"anything", nil, func(d *desk, a agent.ExtendedAgent) error {
			return sign(a, d.mine, []byte("challenge of 32 bytes, as elsewhere"))
		}, "neither a login"},
		{"a commit with a key for logins", nil, func(d *desk, a agent.ExtendedAgent) error {
			return sign(a, d.mine, sshsig("git", "", "sha512", sum))
		}, "for logging in, not for signing"},
		{"a login with a key for commits", []policy.CredentialUse{{Kind: policy.CredentialSignSSH, Key: "mine"}}, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, d.host, d.session, false)
			return sign(a, d.mine, d.login(d.mine))
		}, "for signing, not for logging in"},
		{"a file", []policy.CredentialUse{{Kind: policy.CredentialSignSSH, Key: "mine"}}, func(d *desk, a agent.ExtendedAgent) error {
			return sign(a, d.mine, sshsig("file", "", "sha512", sum))
		}, "for git alone"},
		{"another kind of signature", nil, func(d *desk, a agent.ExtendedAgent) error {
			_ = d.bind(a, d.host, d.session, false)
			_, err := a.SignWithFlags(d.mine, d.login(d.mine), 8)
			return err
		}, "no such kind"},
		{"too often", nil, func(d *desk, a agent.ExtendedAgent) error {
			d.agent.rate.used, d.agent.rate.at = rateBurst*100, time.Now()
			return sign(a, d.mine, d.login(d.mine))
		}, "are too many"},
	} {
		uses := c.uses
		if uses == nil {
			uses = []policy.CredentialUse{forLogin()}
		}
		d := newDesk(t, uses...)
		if err := c.do(d, d.connect()); err == nil || len(d.used) > 0 || !strings.Contains(d.why(), c.why) {
			t.Errorf("%s: %v, %q, used %v", c.name, err, d.why(), d.used)
		}
	}
}

func sign(a agent.ExtendedAgent, key ssh.PublicKey, data []byte) error {
	_, err := a.Sign(key, data)
	return err
}

func TestAgentSignsCommits(t *testing.T) {
	d := newDesk(t, policy.CredentialUse{Kind: policy.CredentialSignSSH, Key: "mine"})
	data := sshsig("git", "", "sha512", make([]byte, 64))
	sig, err := d.connect().Sign(d.mine, data)
	if err != nil || d.mine.Verify(data, sig) != nil || len(d.used) != 1 || d.used[0].Of.Kind != policy.CredentialSignSSH {
		t.Errorf("%v, %+v", err, d.used)
	}
	d.agent.Allowed = func(context.Context, Use) error { return errors.New("a person said no") }
	if err := sign(d.connect(), d.mine, data); err == nil {
		t.Error("signed after a no")
	}
}

func TestAgentChangesNothing(t *testing.T) {
	d := newDesk(t, forLogin())
	_, private := newSigner(t)
	a := d.connect()
	for name, err := range map[string]error{
		"add": a.Add(agent.AddedKey{PrivateKey: private}), "remove": a.Remove(d.mine), "remove all": a.RemoveAll(), "lock": a.Lock([]byte("x")), "unlock": a.Unlock([]byte("x")),
	} {
		if err == nil {
			t.Errorf("%s: done", name)
		}
	}
	if _, err := a.Extension("query", nil); err == nil {
		t.Error("an extension: done")
	}
	if list, err := a.List(); err != nil || len(list) != 1 {
		t.Errorf("afterwards: %v, %v", list, err)
	}
}

// FuzzAgent: whatever comes, it is answered or the connection ends, and nothing is signed.
func FuzzAgent(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 11})
	f.Add([]byte{0, 0, 0, 5, 13, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 9, 27, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 11})
	f.Fuzz(func(t *testing.T, data []byte) {
		a := &SSHAgent{Known: ParseKnownHosts(), Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("none") }, Refused: func(Use) {},
			Allowed: func(context.Context, Use) error { t.Error("signed"); return nil }}
		in, out := net.Pipe()
		go func() {
			_, _ = in.Write(data)
			in.Close()
		}()
		go func() {
			b := make([]byte, 64)
			for {
				if _, err := in.Read(b); err != nil {
					return
				}
			}
		}()
		a.Connection(context.Background(), out)
		out.Close()
	})
}

func TestKnownHosts(t *testing.T) {
	mine, _ := newSigner(t)
	other, _ := newSigner(t)
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(mine.PublicKey())))
	mac := hmac.New(sha1.New, []byte("salt"))
	mac.Write([]byte("hashed.example"))
	hashed := "|1|" + base64.StdEncoding.EncodeToString([]byte("salt")) + "|" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	k := ParseKnownHosts([]byte("# a comment\nbroken\nx ssh-unknown AAAA\ngithub.com,192.0.2.1 "+line+"\n[git.example]:2222 "+line+"\n"+hashed+" "+line+"\n*.lan,!bad.lan "+line+"\n@cert-authority *.ca.example "+line+"\n"), nil)
	for host, want := range map[string]bool{"github.com": true, "GitHub.com": true, "192.0.2.1": true, "github.com:22": true, "github.com:23": false, "git.example:2222": true, "git.example": false, "hashed.example": true,
		"a.lan": true, "bad.lan": false, "x.ca.example": false, "evil.example": false} {
		h, err := policy.ParseCredentialHost(host)
		if err != nil || k.Has(h, mine.PublicKey()) != want || k.Has(h, other.PublicKey()) || k.Knows(h) != want {
			t.Errorf("%s: %v, %v", host, k.Has(h, mine.PublicKey()), err)
		}
	}
	gone := ParseKnownHosts([]byte("github.com "+line+"\n"), []byte(strings.Repeat("x", maxKnownLine+1)+"\n@revoked * "+line+"\n"))
	if h, _ := policy.ParseCredentialHost("github.com"); gone.Has(h, mine.PublicKey()) {
		t.Error("a revoked key counts")
	}
}

func FuzzParseKnownHosts(f *testing.F) {
	f.Add([]byte("github.com ssh-ed25519 AAAA\n|1|x|y ssh-rsa AAAA\n@revoked * x y\n"))
	key, _ := newSigner(f)
	f.Fuzz(func(_ *testing.T, data []byte) {
		h, _ := policy.ParseCredentialHost("github.com")
		ParseKnownHosts(data).Has(h, key.PublicKey())
	})
}

// TestAgentComment: a comment is found once, where one key has it; for itself it names
// none.
func TestAgentComment(t *testing.T) {
	d := newDesk(t)
	if found, line, err := d.agent.Lookup(t.Context(), "mine"); err != nil || found != ssh.FingerprintSHA256(d.mine) || !strings.HasPrefix(line, "ssh-ed25519 ") {
		t.Errorf("%s %q, %v", found, line, err)
	}
	d.agent.Uses = []policy.CredentialUse{{Kind: policy.CredentialSSH, Key: "other", Hosts: []string{"github.com"}}}
	a := d.connect()
	if list, err := a.List(); err != nil || len(list) != 0 {
		t.Errorf("by a comment: %v, %v", list, err)
	}
	_, private := newSigner(t)
	if err := d.ring.Add(agent.AddedKey{PrivateKey: private, Comment: "mine"}); err != nil {
		t.Fatal(err)
	}
	for _, written := range []string{"mine", "nobody", ""} {
		if found, _, err := d.agent.Lookup(t.Context(), written); err == nil {
			t.Errorf("%q is %s", written, found)
		}
	}
}

// TestAgentGone: a question to a person ends when who asked has gone, and nothing counts
// as used.
func TestAgentGone(t *testing.T) {
	d := newDesk(t, forLogin())
	asked, ended := make(chan bool), make(chan error, 1)
	d.agent.Allowed = func(ctx context.Context, _ Use) error {
		close(asked)
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		ended <- ctx.Err()
		return ctx.Err()
	}
	in, out := net.Pipe()
	go d.agent.Connection(t.Context(), out)
	a := agent.NewClient(in)
	if err := d.bind(a, d.host, d.session, false); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = a.Sign(d.mine, d.login(d.mine)) }()
	<-asked
	in.Close()
	if err := <-ended; err == nil {
		t.Error("the question stays up")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.used) > 0 {
		t.Errorf("used: %v", d.used)
	}
}

// TestAgentUsed: what the agent outside refuses after all was no use.
func TestAgentUsed(t *testing.T) {
	d := newDesk(t, forLogin())
	d.agent.Allowed = func(context.Context, Use) error { return d.ring.RemoveAll() }
	a := d.connect()
	if err := d.bind(a, d.host, d.session, false); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Sign(d.mine, d.login(d.mine)); err == nil || len(d.used) > 0 || !strings.Contains(d.why(), "has not signed") {
		t.Errorf("%v; used %v; %s", err, d.used, d.why())
	}
}
