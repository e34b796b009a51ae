package keys

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"carrel/internal/hostprogram"
	"carrel/internal/policy"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Bounds of what programs inside can ask the agent.
const (
	maxAgentMessage = 256 << 10 // bytes, as OpenSSH has it
	agentAtOnce     = 16        // connections
	agentIdle       = 10 * time.Minute
	maxAgentKeys    = 1000 // that are looked through
)

// Numbers of the agent's protocol.
const (
	agentFailure    = 5
	agentSuccess    = 6
	agentList       = 11
	agentListed     = 12
	agentSign       = 13
	agentExtension  = 27
	agentExtFailure = 28

	bindExtension = "session-bind@openssh.com"
)

// Use is one use of a credential: what is told of it, and asked a person.
type Use struct {
	Of      *policy.CredentialUse // by which it is allowed; nil where it is refused
	Kind    policy.CredentialKind
	Subject string // the host, or what is signed
	Key     string // its fingerprint, "" where there is none
	Why     error  // of a refusal
}

// SSHAgent is the filter before the person's ssh agent: programs inside see the keys that
// the person has named, and have them sign logins to the hosts that they named, and
// commits.
type SSHAgent struct {
	Uses  []policy.CredentialUse
	Known *KnownHosts
	Dial  func(ctx context.Context) (net.Conn, error) // to the person's agent
	// Allowed is asked before each signature; an error refuses.
	Allowed func(ctx context.Context, u Use) error
	// Used is told of each signature that was made, before it goes in.
	Used func(u Use)
	// Refused is told of each refusal, and may be slow to no effect but on who asked.
	Refused func(u Use)

	rate Rate
}

// Serve answers connections until the listener is closed.
func (a *SSHAgent) Serve(ctx context.Context, l net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, agentAtOnce)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(10 * time.Millisecond)
			continue
		}
		select {
		case slots <- struct{}{}:
			wg.Go(func() {
				defer func() { <-slots }()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				defer conn.Close()
				a.Connection(ctx, conn)
			})
		default:
			conn.Close() // a flood only hurts the flooder
		}
	}
}

// agentConn is one connection, with the host that it was told of.
type agentConn struct {
	a     *SSHAgent
	bound *bindRequest
	broke error // why nothing is signed on it any more
}

// Connection answers one, and closes it. What is waited for while nobody is at the other
// end any more, a person's answer above all, is given up.
func (a *SSHAgent) Connection(ctx context.Context, conn net.Conn) {
	ctx, gone := context.WithCancel(ctx)
	asked := make(chan []byte)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer gone()
		defer close(asked)
		for {
			_ = conn.SetReadDeadline(time.Now().Add(agentIdle))
			data, err := readMessage(conn)
			if err != nil {
				return
			}
			select {
			case asked <- data:
			case <-ctx.Done():
				return
			}
		}
	})
	defer reading.Wait()
	defer conn.Close()
	defer gone()
	c := &agentConn{a: a}
	for data := range asked {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Minute))
		if writeMessage(conn, c.answer(ctx, data)) != nil {
			return
		}
	}
}

// readMessage reads one message, which is bounded.
func readMessage(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxAgentMessage {
		return nil, errors.New("a message of the agent's protocol is empty, or too long")
	}
	var data bytes.Buffer // grows with what comes, not with what was announced
	_, err := io.CopyN(&data, from, int64(n))
	return data.Bytes(), err
}

func writeMessage(to io.Writer, data []byte) error {
	_, err := to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

// answer answers one message. What is not listed here is refused: adding and removing
// keys, locking, smart cards, all other extensions.
func (c *agentConn) answer(ctx context.Context, data []byte) []byte {
	switch data[0] {
	case agentList:
		if len(data) == 1 && c.a.rate.Spend() == nil {
			return c.a.list(ctx)
		}
	case agentSign:
		return c.sign(ctx, data)
	case agentExtension:
		var req struct {
			Name string `sshtype:"27"`
			Rest []byte `ssh:"rest"`
		}
		if ssh.Unmarshal(data, &req) != nil || req.Name != bindExtension {
			break
		}
		if err := c.bind(req.Rest); err != nil {
			c.a.refuse(policy.CredentialSSH, "a host", "", err)
			return []byte{agentExtFailure}
		}
		return []byte{agentSuccess}
	}
	return []byte{agentFailure}
}

// bind takes the host that a connection is for. Nothing is refused for the host here: a
// program tells of every host that it talks to, also where it has a password.
func (c *agentConn) bind(data []byte) error {
	if c.bound != nil || c.broke != nil {
		c.broke = errors.New("the connection was told of two hosts")
		return c.broke
	}
	b, err := parseBind(data)
	if err == nil && b.forwarding {
		err = errors.New("the agent is not forwarded to other machines: whoever is root there could use it")
	}
	if err != nil {
		c.broke = err
		return err
	}
	c.bound = b
	return nil
}

// upstream runs something with a connection to the person's agent.
func (a *SSHAgent) upstream(ctx context.Context, do func(agent.ExtendedAgent) error) error {
	conn, err := a.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(hostprogram.Limit))
	return do(agent.NewClient(conn))
}

// list gives the keys that may be used for anything.
func (a *SSHAgent) list(ctx context.Context) []byte {
	var keys []*agent.Key
	err := a.upstream(ctx, func(up agent.ExtendedAgent) (err error) {
		keys, err = up.List()
		return err
	})
	if err != nil || len(keys) > maxAgentKeys {
		return []byte{agentFailure}
	}
	var out []byte
	n := 0
	for _, k := range keys {
		if len(a.usesOf(k)) > 0 {
			n++
			out = append(out, ssh.Marshal(struct{ Blob, Comment []byte }{k.Blob, []byte(k.Comment)})...)
		}
	}
	if len(out) > maxAgentMessage-5 {
		return []byte{agentFailure}
	}
	return append(binary.BigEndian.AppendUint32([]byte{agentListed}, uint32(n)), out...)
}

// usesOf are the uses for which a key is named.
func (a *SSHAgent) usesOf(k *agent.Key) []*policy.CredentialUse {
	var out []*policy.CredentialUse
	for i := range a.Uses {
		if u := &a.Uses[i]; (u.Kind == policy.CredentialSSH || u.Kind == policy.CredentialSignSSH) && Names(u.Key, k.Blob) {
			out = append(out, u)
		}
	}
	return out
}

// fingerprintMark is what fingerprints begin with.
const fingerprintMark = "SHA256:"

// IsFingerprint says whether a key is named by its fingerprint, not by a comment.
func IsFingerprint(written string) bool { return strings.HasPrefix(written, fingerprintMark) }

// Names says whether a fingerprint is a key's. A comment names none: [SSHAgent.Lookup] finds
// once which key has it.
func Names(written string, blob []byte) bool {
	pub, err := ssh.ParsePublicKey(blob)
	return err == nil && IsFingerprint(written) && ssh.FingerprintSHA256(pub) == strings.TrimRight(written, "=")
}

// rsaFlags ask for RSA with SHA-2, as they do of OpenSSH's agent: SSH_AGENT_RSA_SHA2_256
// and _512 of its PROTOCOL.agent.
const rsaFlags = 2 | 4

// sign has the person's agent sign, where that is allowed.
func (c *agentConn) sign(ctx context.Context, data []byte) []byte {
	var req struct {
		Key   []byte `sshtype:"13"`
		Data  []byte
		Flags uint32
	}
	if ssh.Unmarshal(data, &req) != nil {
		return []byte{agentFailure}
	}
	err := c.a.rate.Spend()
	if err == nil && req.Flags&^rsaFlags != 0 {
		err = errors.New("no such kind of signature is known")
	}
	if err != nil {
		c.a.refuse(policy.CredentialSSH, "a key", "", err)
		return []byte{agentFailure}
	}
	var use Use
	err = c.a.upstream(ctx, func(up agent.ExtendedAgent) (err error) {
		use, err = c.mayIn(up, req.Key, req.Data)
		return err
	})
	if err != nil {
		if use.Kind == "" {
			use = Use{Kind: policy.CredentialSSH, Subject: "a key"}
		}
		c.a.refuse(use.Kind, use.Subject, use.Key, err)
		return []byte{agentFailure}
	}
	if c.a.Allowed(ctx, use) != nil { // told by who refused
		return []byte{agentFailure}
	}
	var sig *ssh.Signature
	err = c.a.upstream(ctx, func(up agent.ExtendedAgent) error {
		pub, err := ssh.ParsePublicKey(req.Key)
		if err == nil {
			sig, err = up.SignWithFlags(pub, req.Data, agent.SignatureFlags(req.Flags))
		}
		return err
	})
	if err != nil {
		c.a.refuse(use.Kind, use.Subject, use.Key, errors.New("the agent outside has not signed: it refused, or the key is gone"))
		return []byte{agentFailure}
	}
	c.a.Used(use)
	return ssh.Marshal(struct {
		Signature []byte `sshtype:"14"`
	}{ssh.Marshal(sig)})
}

// mayIn says by which use something may be signed. The use is told of also with an error.
func (c *agentConn) mayIn(up agent.ExtendedAgent, blob, data []byte) (Use, error) {
	u := Use{Kind: policy.CredentialSSH, Subject: "a key"}
	keys, err := up.List()
	if err != nil || len(keys) > maxAgentKeys {
		return u, errors.New("the agent outside does not answer")
	}
	pub, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return u, errors.New("the key is not understood")
	}
	u.Key = ssh.FingerprintSHA256(pub)
	var uses []*policy.CredentialUse
	for _, k := range keys {
		if bytes.Equal(k.Blob, blob) {
			uses = c.a.usesOf(k)
		}
	}
	if len(uses) == 0 {
		return u, errors.New("the key is not listed")
	}
	s, err := ParseSigned(data, blob)
	if err != nil {
		return u, err
	}
	if s.Namespace != "" {
		return signing(u, uses, s)
	}
	return c.login(u, uses, s)
}

// signing is a signature of ssh-keygen -Y.
func signing(u Use, uses []*policy.CredentialUse, s *Signed) (Use, error) {
	u.Kind, u.Subject = policy.CredentialSignSSH, "a signature in git's namespace"
	if s.Namespace != "git" {
		u.Subject = "something"
		return u, fmt.Errorf("signatures are given for git alone, not for %.40q", s.Namespace)
	}
	for _, one := range uses {
		if one.Kind == policy.CredentialSignSSH {
			u.Of = one
			return u, nil
		}
	}
	return u, errors.New("the key is listed for logging in, not for signing")
}

// login is one to a host, that has to be the one that the connection was bound to.
func (c *agentConn) login(u Use, uses []*policy.CredentialUse, s *Signed) (Use, error) {
	u.Subject = "a login"
	switch {
	case c.broke != nil:
		return u, c.broke
	case c.bound == nil:
		return u, errors.New("the connection does not say which host the login is for: that takes ssh of OpenSSH 8.9 or later")
	case !bytes.Equal(c.bound.session, s.Session), s.HostKey != nil && !bytes.Equal(s.HostKey, c.bound.hostKey.Marshal()):
		return u, errors.New("the login is for another connection than the one that was told of")
	}
	var listed []string
	for _, one := range uses {
		if one.Kind != policy.CredentialSSH {
			continue
		}
		for _, text := range one.Hosts {
			host, err := policy.ParseCredentialHost(text)
			if err != nil {
				continue
			}
			if c.a.Known.Has(host, c.bound.hostKey) {
				u.Of, u.Subject = one, fmt.Sprintf("%.32q at %s", s.User, hostText(host))
				return u, nil
			}
			listed = append(listed, hostText(host))
		}
	}
	u.Subject = "the host with the key " + ssh.FingerprintSHA256(c.bound.hostKey)
	if len(listed) == 0 {
		return u, errors.New("the key is listed for signing, not for logging in")
	}
	return u, fmt.Errorf("by your known_hosts it is none of %s", strings.Join(listed, ", "))
}

func (a *SSHAgent) refuse(kind policy.CredentialKind, subject, key string, why error) {
	a.Refused(Use{Kind: kind, Subject: subject, Key: key, Why: why})
}

// ParsePublicKey reads the file of a public key: its fingerprint and how git writes it.
func ParsePublicKey(data []byte) (fingerprint, line string, err error) {
	pub, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return "", "", errors.New("it is no public key of ssh")
	}
	return ssh.FingerprintSHA256(pub), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub))), nil
}

// Lookup finds the key that the person wrote in their agent, and gives it as
// [ParsePublicKey] does.
func (a *SSHAgent) Lookup(ctx context.Context, written string) (fingerprint, line string, err error) {
	var found []*agent.Key
	err = a.upstream(ctx, func(up agent.ExtendedAgent) error {
		keys, err := up.List()
		for _, k := range keys {
			if Names(written, k.Blob) || written != "" && !IsFingerprint(written) && written == k.Comment {
				found = append(found, k)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("asking the agent outside for its keys: %w", err)
	case len(found) != 1:
		return "", "", fmt.Errorf("the agent outside has %d keys %.80q: `ssh-add -l` there lists them", len(found), written)
	}
	pub, err := ssh.ParsePublicKey(found[0].Blob)
	if err != nil {
		return "", "", errors.New("the key is not understood")
	}
	return ssh.FingerprintSHA256(pub), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub))), nil
}
