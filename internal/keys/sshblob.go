package keys

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// Signed is what a request to the agent wants signed: a login, or something of git's:
// of what it is made there is but a sum, so that it is a commit or tag cannot be seen.
type Signed struct {
	Session []byte // of a login: the connection's name, RFC 4252
	User    string
	HostKey []byte // of a login that names the host's key beside

	Namespace string // of a signature by ssh-keygen -Y
}

// sshsigMark begins what ssh-keygen -Y has signed.
const sshsigMark = "SSHSIG"

// Names and numbers of RFC 4252, and of OpenSSH's protocol for hosts in the request.
const (
	msgUserAuth  = 50
	methodKey    = "publickey"
	methodBound  = "publickey-hostbound-v00@openssh.com"
	serviceLogin = "ssh-connection"
)

var errNotSigned = errors.New("what is to be signed is neither a login by ssh nor in git's namespace")

// ParseSigned looks at what is to be signed with a key, given by its blob. Only the two
// forms that are known are anything; every byte has to be understood.
func ParseSigned(data, key []byte) (*Signed, error) {
	if rest, ok := bytes.CutPrefix(data, []byte(sshsigMark)); ok {
		return parseSSHSig(rest)
	}
	var head struct {
		Session []byte
		Number  byte
		User    string
		Service string
		Method  string
		True    bool
		Algo    string
		Key     []byte
		Rest    []byte `ssh:"rest"`
	}
	if err := ssh.Unmarshal(data, &head); err != nil || head.Number != msgUserAuth || head.Service != serviceLogin || !head.True {
		return nil, errNotSigned
	}
	s := &Signed{Session: head.Session, User: head.User}
	switch head.Method {
	case methodKey:
		if len(head.Rest) > 0 {
			return nil, errNotSigned
		}
	case methodBound:
		var tail struct{ HostKey []byte }
		if err := ssh.Unmarshal(head.Rest, &tail); err != nil || len(tail.HostKey) == 0 {
			return nil, errNotSigned
		}
		s.HostKey = tail.HostKey
	default:
		return nil, errNotSigned
	}
	// A session is named by a hash: 20 bytes of SHA-1 up to 64 of SHA-512.
	if len(s.Session) < 20 || len(s.Session) > 64 || !bytes.Equal(head.Key, key) {
		return nil, errNotSigned
	}
	return s, nil
}

func parseSSHSig(data []byte) (*Signed, error) {
	var sig struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}
	if err := ssh.Unmarshal(data, &sig); err != nil || sig.Reserved != "" || sig.Namespace == "" {
		return nil, errNotSigned
	}
	if want := map[string]int{"sha256": 32, "sha512": 64}[sig.Hash]; want == 0 || len(sig.Sum) != want {
		return nil, errNotSigned
	}
	return &Signed{Namespace: sig.Namespace}, nil
}

// bindRequest is what session-bind@openssh.com says: a connection was made to whoever
// has this key, under this name, which they have signed.
type bindRequest struct {
	hostKey    ssh.PublicKey
	session    []byte
	forwarding bool
}

// parseBind reads such a request and verifies the signature.
func parseBind(data []byte) (*bindRequest, error) {
	var in struct {
		HostKey, Session, Signature []byte
		Forwarding                  bool
	}
	if err := ssh.Unmarshal(data, &in); err != nil {
		return nil, errors.New("the request that tells of a host is not understood")
	}
	key, err := ssh.ParsePublicKey(in.HostKey)
	if err != nil {
		return nil, errors.New("the host's key is of a kind that is not understood")
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(in.Signature, &sig); err != nil || len(in.Session) < 20 || len(in.Session) > 64 {
		return nil, errors.New("the host's signature is not understood")
	}
	if err := key.Verify(in.Session, &sig); err != nil {
		return nil, fmt.Errorf("the host's key %s has not signed this connection", ssh.FingerprintSHA256(key))
	}
	return &bindRequest{hostKey: key, session: in.Session, forwarding: in.Forwarding}, nil
}
