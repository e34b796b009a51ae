package hostview

import (
	"bytes"
	"net/netip"
	"path"

	"carrel/internal/pathname"
)

const (
	maxResolv = 256 << 10
	maxHosts  = 8 << 20 // people block trackers with hosts files of this size
	maxCert   = 4 << 20
)

// certificateVariables name files or directories with certificates to trust.
var certificateVariables = []string{
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	"PIP_CERT", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "NIX_SSL_CERT_FILE",
}

// names makes name resolution work. Where the files are links into /run, which
// is empty inside, their content at the start is put at the end of the link: a
// bind mount would not follow the host's replacement of the file either.
func (in *inspector) names() {
	if in.o.NameServer != "" {
		in.ownNames()
		return
	}
	in.copyOut("/etc/resolv.conf", maxResolv, "name servers")
	in.copyOut("/etc/hosts", maxHosts, "host names")
}

// ownNames has every name asked of our own name server. Of the host's own table
// only the names of this machine stay: an address of another one leads nowhere
// inside, the name does.
func (in *inspector) ownNames() {
	in.file("/etc/resolv.conf", []byte("nameserver "+in.o.NameServer+"\noptions timeout:5 attempts:2\n"), 0o644, "the workspace's own name server")
	data, at, err := in.h.load("/etc/hosts", maxHosts)
	if err != nil && at.found {
		in.out.note("/etc/hosts: %v; localhost alone is known inside", err)
	}
	in.file("/etc/hosts", loopbackNames(data), 0o644, "names of this machine")
}

// loopbackNames keeps the lines of a hosts(5) file that name the loopback.
func loopbackNames(data []byte) []byte {
	out := []byte("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
	for line := range bytes.Lines(data) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		words := bytes.Fields(line)
		if len(words) < 2 {
			continue
		}
		if a, err := netip.ParseAddr(string(words[0])); err == nil && a.Unmap().IsLoopback() {
			out = append(append(out, bytes.Join(words, []byte(" "))...), '\n')
		}
	}
	return out
}

// copyOut generates what a file of the system leads to outside the system.
func (in *inspector) copyOut(p string, max int64, reason string) {
	at := in.h.walk(p)
	if in.out.inSystem(at.path) && at.found {
		in.out.link(at.hops)
		return
	}
	if len(at.hops) == 0 {
		return // the host has none
	}
	data, _, err := in.h.load(p, max)
	if err != nil {
		in.out.note("%s: %v; it is empty inside", p, err)
	}
	in.file(p, data, 0o644, reason)
}

// certificates shows the certificate files that variables name, unless a
// private key is in them.
func (in *inspector) certificates() {
	for _, name := range certificateVariables {
		p := in.env[name]
		if !path.IsAbs(p) {
			continue
		}
		at := in.h.walk(path.Clean(p))
		if !at.found || pathname.Within(at.path, in.o.Project) || in.out.shown(at.path) || !in.trustFile(at) {
			continue
		}
		in.extraRead(path.Clean(p))
	}
}

func (in *inspector) trustFile(at place) bool {
	if in.secrets.hidden.covers(at.path) || in.o.tooBroad(at.path) {
		return false
	}
	if at.isDir() {
		return true
	}
	data, err := in.h.read(at.path, maxCert)
	return err == nil && !bytes.Contains(data, []byte("PRIVATE KEY"))
}
