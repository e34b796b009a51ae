package view

import (
	"slices"
	"testing"
)

func TestResolvConf(t *testing.T) {
	const content = "nameserver 127.0.0.53\n"
	v := inspect(t, tree{
		"/etc/resolv.conf": "-> ../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/stub-resolv.conf": content,
	})
	if got := mustFile(t, v, "/run/systemd/resolve/stub-resolv.conf"); got != content {
		t.Errorf("content %q, want %q", got, content)
	}

	v = inspect(t, tree{"/etc/resolv.conf": "-> /var/run/nm/resolv.conf", "/var/run": "-> /run", "/run/nm/resolv.conf": content})
	if got := mustFile(t, v, "/run/nm/resolv.conf"); got != content || !hasLink(v, "/var/run", "/run") {
		t.Errorf("content %q, links %q", got, v.Symlinks)
	}

	v = inspect(t, tree{"/etc/resolv.conf": content, "/etc/hosts": "127.0.0.1 localhost\n"})
	for _, p := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		if _, ok := file(v, p); ok {
			t.Errorf("%s is generated although the host's is visible", p)
		}
	}

	v = inspect(t, tree{"/etc/resolv.conf": "-> /run/gone/resolv.conf"})
	if f, ok := file(v, "/run/gone/resolv.conf"); !ok || len(f.Data) != 0 {
		t.Error("a dangling link needs an empty file, so that it does not dangle inside")
	}
}

func TestCertificates(t *testing.T) {
	v := inspect(t, tree{"/home/u/ca.pem": "CERTIFICATE", "/home/u/key.pem": "BEGIN RSA PRIVATE KEY", "/home/u/.ssh/ca.pem": "c", "/srv/certs/": ""},
		"NODE_EXTRA_CA_CERTS=/home/u/ca.pem", "SSL_CERT_FILE=/home/u/key.pem", "CURL_CA_BUNDLE=/home/u/.ssh/ca.pem", "SSL_CERT_DIR=/srv/certs", "PIP_CERT=relative")
	if want := []string{"/home/u/ca.pem", "/srv/certs"}; !slices.Equal(v.ExtraRead, want) {
		t.Errorf("ExtraRead = %q, want %q", v.ExtraRead, want)
	}
}
