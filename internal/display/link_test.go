package display

import (
	"net/url"
	"strings"
	"testing"
)

func TestParseLink(t *testing.T) {
	tests := []struct{ raw, url string }{
		{"https://example.com", "https://example.com"},
		{"HTTPS://Example.com/A?b=c#d", "https://Example.com/A?b=c#d"},
		{"http://example.com:8080/%2F", "http://example.com:8080/%2F"},
		{"http://[::1]:3000/", "http://[::1]:3000/"},
		{"http://127.0.0.1/", "http://127.0.0.1/"},
		{"https://example.com/ü?q=ü#ü", "https://example.com/%C3%BC?q=%C3%BC#%C3%BC"},
		{"https://example.com/?q=`id`;\"'<>|^{}", "https://example.com/?q=%60id%60;%22%27%3C%3E%7C%5E%7B%7D"},
		{"https://example.com/?q=\u202e", "https://example.com/?q=%E2%80%AE"},
	}
	for _, tt := range tests {
		got, err := ParseLink([]byte(tt.raw))
		if err != nil || got.URL != tt.url {
			t.Errorf("%q: got %q, %v; want %q", tt.raw, got.URL, err, tt.url)
		}
	}
}

func TestParseLinkRefuses(t *testing.T) {
	tests := []struct{ raw, reason string }{
		{"", "empty"}, {"example.com", "scheme"}, {"/etc/passwd", "scheme"}, {"-x", "scheme"}, {"--help", "scheme"},
		{"file:///etc/passwd", "scheme"}, {"javascript:alert(1)", "scheme"}, {"vscode://x/y", "scheme"}, {"ftp://x/", "scheme"},
		{"data:text/html,x", "scheme"}, {"mailto:a@b", "scheme"},
		{"http:", "no host"}, {"http:foo", "no host"}, {"http:///x", "no host"}, {"https://:80/", "no host"}, {"http://?x", "no host"},
		{"https://user@example.com/", "user name"}, {"https://good.com:x@evil.com/", "user name"}, {"http://@x/", "user name"},
		{"https://good.com\\@evil.com/", "backslash"}, {"https://x/ y", "space"}, {" https://x/", "space"}, {"https://x/\n", "control"},
		{"https://x/\x1b[31m", "control"}, {"https://x/\x7f", "control"}, {"https://x/\u0085", "control"}, {"https://x/\x00", "control"},
		{"https://x/\xff", "UTF-8"}, {"https://" + strings.Repeat("x", MaxLink), "at most"},
		{"https://exämple.com/", "xn--"}, {"https://ex%41mple.com", "no URL"}, {"https://x:0/", "port"}, {"https://x:65536/", "port"}, {"https://x:/", "port"},
		{"https://x:a/", "no URL"}, {"http://[fe80::1%25eth0]/", "host"}, {"http://2130706433/", "host"}, {"http://0x7f.1/", "host"}, {"http://127.1/", "host"},
		{"http://[::1", "no URL"},
	}
	for _, tt := range tests {
		got, err := ParseLink([]byte(tt.raw))
		if err == nil || got != (Link{}) || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%q: got %+v, %v; want an error with %q", tt.raw, got, err, tt.reason)
		}
	}
}

func TestLocalLinks(t *testing.T) {
	for raw, local := range map[string]bool{
		"http://localhost:3000/": true, "http://LOCALHOST/": true, "http://localhost./": true, "http://a.localhost/": true,
		"http://127.0.0.2/": true, "http://[::1]/": true, "http://[::ffff:127.0.0.1]/": true, "http://0.0.0.0/": true,
		"http://example.com/": false, "http://10.0.0.1/": false, "http://localhost.example.com/": false,
	} {
		if got, err := ParseLink([]byte(raw)); err != nil || got.Local != local {
			t.Errorf("%q: local %v, %v; want %v", raw, got.Local, err, local)
		}
	}
}

// esc escapes a link so that it can be a parameter of another.
func esc(text string) string { return url.QueryEscape(text) }

func TestCallbackPort(t *testing.T) {
	const back = "http://localhost:54545/callback"
	tests := []struct {
		raw  string
		port int
	}{
		{"https://a.example/authorize?redirect_uri=" + esc(back), 54545},
		{"https://a.example/authorize?x=1&redirect_uri=" + back, 54545},
		{"https://a.example/?redirect_url=" + esc("http://127.0.0.1:1455/auth"), 1455},
		{"https://a.example/?callback=" + esc("http://[::1]:8080"), 8080},
		{"https://a.example/?redirect=" + esc("HTTP://LOCALHOST:8080"), 8080},
		{"https://a.example/?redirectUri=" + esc(back), 54545},
		{"https://a.example/?redirect_uri=" + esc(esc(back)), 54545},
		{"https://a.example/?redirect_uri=" + esc(esc(esc(back))), 54545},
		{"https://a.example/login?continue=" + esc("https://b.example/o?redirect_uri="+esc(back)), 54545},
		{"https://a.example/login?next=" + esc("/o?redirect_uri="+esc(back)), 54545},
		{"https://a.example/login?returnTo=" + esc(esc("/o?redirect_uri="+esc(back))), 54545},
		{"https://a.example/#/login?redirect_uri=" + esc(back), 54545},
		{"https://a.example/#redirect_uri=" + esc(back), 54545},
		{"https://a.example/?redirect_uri=x&redirect_uri=" + esc(back), 54545},
		// No way back to this machine.
		{"https://a.example/", 0}, {"http://localhost:3000/", 0}, {"https://a.example/?q=" + esc(back), 0},
		{"https://a.example/?redirect_uri=" + esc("https://b.example:54545/"), 0},
		{"https://a.example/?redirect_uri=" + esc("http://localhost/"), 0},
		{"https://a.example/?redirect_uri=" + esc("http://localhost:0/"), 0},
		{"https://a.example/?redirect_uri=" + esc("http://localhost:99999/"), 0},
		{"https://a.example/?redirect_uri=" + esc("http://localhost.evil.example:80/"), 0},
		{"https://a.example/?redirect_uri=" + esc("http://localhost:1@evil.example/"), 0},
		{"https://a.example/?redirect_uri=" + esc("http://user@localhost:1/"), 0},
		{"https://a.example/?redirect_uri=" + esc("myapp://localhost:1/"), 0},
		{"https://a.example/?redirect_uri=%zz", 0},
	}
	for _, tt := range tests {
		got, err := ParseLink([]byte(tt.raw))
		if err != nil || got.CallbackPort != tt.port {
			t.Errorf("%q: port %d, %v; want %d", tt.raw, got.CallbackPort, err, tt.port)
		}
	}
}

// Neither many nor deeply nested parameters cost more than a bounded walk.
func TestCallbackIsBounded(t *testing.T) {
	many := "https://a.example/?" + strings.Repeat("x=1&", maxParameters) + "redirect_uri=http://localhost:1"
	if got, err := ParseLink([]byte(many)); err != nil || got.CallbackPort != 0 {
		t.Errorf("got port %d, %v", got.CallbackPort, err)
	}
	deep := "/?redirect_uri=http://localhost:1"
	for range maxNesting + 2 {
		deep = "/?u=" + esc(deep)
		if len(deep) > MaxLink/2 {
			break
		}
	}
	if got, err := ParseLink([]byte("https://a.example" + deep)); err != nil || got.CallbackPort != 0 {
		t.Errorf("got port %d, %v", got.CallbackPort, err)
	}
}

func FuzzParseLink(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/?redirect_uri=http%3A%2F%2Flocalhost%3A1455", "http://[::1]:1/", "https://x/%zz?%zz#%zz", "http://a'b/",
		"https://u@x/", "http:\\\\x", "https://x/\x00", "HTTPS://X:1/ü?=&&=#?=", "https://a/?next=/?redirect=http://127.0.0.1:2",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		link, err := ParseLink(raw)
		if err != nil {
			if link != (Link{}) {
				t.Fatalf("refused, but %+v", link)
			}
			return
		}
		for _, b := range []byte(link.URL) {
			if b <= ' ' || b >= 0x7f || strings.IndexByte("\"'<>\\`", b) >= 0 {
				t.Fatalf("%q holds %q", link.URL, b)
			}
		}
		if !strings.HasPrefix(link.URL, link.Scheme+"://") || link.Scheme != "http" && link.Scheme != "https" {
			t.Fatalf("%q: scheme %q", link.URL, link.Scheme)
		}
		if link.CallbackPort < 0 || link.CallbackPort > 65535 {
			t.Fatalf("port %d", link.CallbackPort)
		}
		if len(link.URL) > MaxLink {
			return
		}
		again, err := ParseLink([]byte(link.URL))
		if err != nil || again.URL != link.URL || again.Host != link.Host || again.Port != link.Port {
			t.Fatalf("%q becomes %q, %v", link.URL, again.URL, err)
		}
	})
}
