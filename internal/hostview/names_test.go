package hostview

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

// TestOwnNames: with a name server of our own, wherever the host's file lies, and
// no address of another machine.
func TestOwnNames(t *testing.T) {
	for at, files := range map[string]tree{
		"/etc/resolv.conf":                      {"/etc/resolv.conf": "nameserver 10.0.0.1\nsearch corp.example\n"},
		"/run/systemd/resolve/stub-resolv.conf": {"/etc/resolv.conf": "-> ../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/stub-resolv.conf": "nameserver 127.0.0.53\n"},
		"/run/gone/resolv.conf":                 {"/etc/resolv.conf": "-> /run/gone/resolv.conf"},
	} {
		files["/etc/hosts"] = "127.0.1.1 desk desk.example # me\n10.0.0.5 build\n::1 six\n#127.0.0.1 off\n0.0.0.0 ads.example\n127.0.0.1\nbroken line\n"
		o := options(build(t, files))
		o.NameServer = "198.18.0.1"
		v := inspectWith(t, o)
		if got, want := mustFile(t, v, at), "nameserver 198.18.0.1\noptions timeout:5 attempts:2\n"; got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
		if got, want := mustFile(t, v, "/etc/hosts"), "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 desk desk.example\n::1 six\n"; got != want {
			t.Errorf("hosts: %q, want %q", got, want)
		}
	}
}

func TestCertificates(t *testing.T) {
	v := inspect(t, tree{"/home/u/ca.pem": "CERTIFICATE", "/home/u/key.pem": "BEGIN RSA PRIVATE KEY", "/home/u/.ssh/ca.pem": "c", "/srv/certs/": ""},
		"NODE_EXTRA_CA_CERTS=/home/u/ca.pem", "SSL_CERT_FILE=/home/u/key.pem", "CURL_CA_BUNDLE=/home/u/.ssh/ca.pem", "SSL_CERT_DIR=/srv/certs", "PIP_CERT=relative")
	if want := []string{"/home/u/ca.pem", "/srv/certs"}; !slices.Equal(v.ExtraRead, want) {
		t.Errorf("ExtraRead = %q, want %q", v.ExtraRead, want)
	}
}
