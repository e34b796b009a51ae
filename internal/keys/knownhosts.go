package keys

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net"
	"path"
	"strconv"
	"strings"

	"carrel/internal/policy"

	"golang.org/x/crypto/ssh"
)

// sshPort is what needs not be said.
const sshPort = 22

// maxKnownLine bounds one entry, in bytes.
const maxKnownLine = 32 << 10

// KnownHosts are the keys of hosts that the person trusts, as their files said it when
// the workspace started.
type KnownHosts struct {
	entries []knownEntry
	revoked [][]byte
}

type knownEntry struct {
	patterns []string
	key      []byte
}

// ParseKnownHosts reads files as ~/.ssh/known_hosts. Lines that mean nothing here are
// skipped, as ssh does it; certificates of hosts are not looked at.
func ParseKnownHosts(files ...[]byte) *KnownHosts {
	k := new(KnownHosts)
	for _, data := range files {
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if len(line) > maxKnownLine {
				continue
			}
			marker, hosts, key, _, _, err := ssh.ParseKnownHosts(line)
			switch {
			case err != nil:
			case marker == "revoked":
				k.revoked = append(k.revoked, key.Marshal())
			case marker == "":
				k.entries = append(k.entries, knownEntry{hosts, key.Marshal()})
			}
		}
	}
	return k
}

// Has says whether a key is one of a host's.
func (k *KnownHosts) Has(host policy.CredentialHost, key ssh.PublicKey) bool {
	blob := key.Marshal()
	for _, r := range k.revoked {
		if bytes.Equal(r, blob) {
			return false
		}
	}
	name := knownName(host)
	for _, e := range k.entries {
		if bytes.Equal(e.key, blob) && e.names(name) {
			return true
		}
	}
	return false
}

// Knows says whether any key of a host is known.
func (k *KnownHosts) Knows(host policy.CredentialHost) bool {
	name := knownName(host)
	for _, e := range k.entries {
		if e.names(name) {
			return true
		}
	}
	return false
}

// knownName is a host as the files have it.
func knownName(h policy.CredentialHost) string {
	if h.Port == 0 || h.Port == sshPort {
		return h.Name
	}
	return "[" + h.Name + "]:" + strconv.Itoa(int(h.Port))
}

// names says whether an entry is about a host. Patterns count, unlike with a list of the
// person's for this: there they said which hosts they mean.
func (e *knownEntry) names(name string) bool {
	found := false
	for _, p := range e.patterns {
		if strings.HasPrefix(p, "|1|") {
			found = found || hashedName(p, name)
			continue
		}
		p, not := strings.CutPrefix(strings.ToLower(p), "!")
		ok := p == name || strings.ContainsAny(p, "*?") && wildcard(p, name)
		if ok && not {
			return false
		}
		found = found || ok
	}
	return found
}

// wildcard compares with * and ?, which no brackets mean more than themselves.
func wildcard(pattern, name string) bool {
	ok, err := path.Match(strings.NewReplacer("[", `\[`, "]", `\]`, `\`, `\\`, "/", "\x01").Replace(pattern), strings.ReplaceAll(name, "/", "\x01"))
	return err == nil && ok
}

// hashedName compares with |1|salt|hash, as ssh-keygen -H writes it.
func hashedName(p, name string) bool {
	parts := strings.Split(p, "|")
	if len(parts) != 4 {
		return false
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	sum, wrong := base64.StdEncoding.DecodeString(parts[3])
	if err != nil || wrong != nil {
		return false
	}
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return hmac.Equal(mac.Sum(nil), sum)
}

// hostText is a host as a person writes it.
func hostText(h policy.CredentialHost) string {
	if h.Port == 0 {
		return h.Name
	}
	return net.JoinHostPort(h.Name, strconv.Itoa(int(h.Port)))
}
