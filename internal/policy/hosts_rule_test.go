package policy

import (
	"strings"
	"testing"
)

// ruleCovered tells whether rules cover a narrower one.
func ruleCovered(list []Value[string], rule string) bool {
	d := &decision{}
	return listed(d.scope, rulesOf(d.scope, list), Value[string]{V: rule})
}

func TestRuleCovers(t *testing.T) {
	tests := []struct {
		rule, narrower string
		want           bool
	}{
		{"*.openai.com", "api.openai.com", true},
		{"*.openai.com", "openai.com", false},
		{"*.openai.com", "evilopenai.com", false},
		{"**.openai.com", "openai.com", true},
		{"**.openai.com", "a.b.openai.com", true},
		{"Example.COM", "example.com.", true},
		{"example.com:443", "example.com:443", true},
		{"example.com:443", "example.com:80", false},
		{"example.com:443", "example.com", false},
		{"example.com", "example.com:80", true},
		{"example.com:80,443", "example.com:443", true},
		{"example.com:443", "example.com:80,443", false},
		{"::1", "[::1]:443", true},
		{"10.0.0.1", "::ffff:10.0.0.1", true},
		{"*.example.com", "**.example.com", false},
		{"**.example.com", "*.example.com", true},
		{"*.example.com", "*.api.example.com", true},
		{"10.0.0.0/8", "10.1.0.0/16", true},
		{"10.1.0.0/16", "10.0.0.0/8", false},
		{"10.0.0.0/8", "10.0.0.1:22", true},
		{"10.0.0.0/8", "11.0.0.1", false},
		{"::ffff:10.0.0.0/104", "10.0.0.1", true},
		{"8.0.0.0/6", "8.8.8.8", true},
		{"8.0.0.0/6", "10.0.0.1", false},   // special ones it does not list
		{"8.0.0.0/6", "10.0.0.0/8", false}, // nor a range of them
		{"169.254.0.0/16", "169.254.169.254", false},
		{"169.254.169.254", "169.254.169.254:80", true},
		{"fe80::1", "fe80::1%eth0", true},
		{"fe80::1%eth0", "fe80::1", false},
		{"fe80::1%eth0", "fe80::1%eth1", false},
		{"10.0.0.1", "a.example", false},
		{"a.example", "GET http://a.example/x", true},
		{"a.example:443", "GET http://a.example/x", false},
		{"GET http://a.example/", "a.example:80", false},
		{"GET,HEAD http://a.example/", "GET http://a.example/x", true},
		{"GET http://a.example/", "http://a.example/", false},
		{"http://a.example/x", "GET http://a.example/x/y", true},
		{"http://a.example/x", "GET http://a.example/xy", false},
		{"preset:github", "api.github.com:443", true},
		{"preset:github", "api.github.com", false},
		{"**.github.com", "preset:github", false},
	}
	for _, tt := range tests {
		if got := ruleCovered(values(tt.rule), tt.narrower); got != tt.want {
			t.Errorf("%s covers %s = %v, want %v", tt.rule, tt.narrower, got, tt.want)
		}
	}
	if !ruleCovered(values("a.example:80", "a.example:443"), "a.example:80,443") {
		t.Error("two rules do not cover the ports of one")
	}
}

func TestRuleText(t *testing.T) {
	tests := []struct{ text, want string }{
		{" Example.COM. ", "example.com"},
		{"*.BÜCHER.example:443", "*.xn--bcher-kva.example:443"},
		{"a.example:443,80,443", "a.example:80,443"},
		{"[::1]:80", "[::1]:80"},
		{"[::1]", "::1"},
		{"::FFFF:1.2.3.4", "1.2.3.4"},
		{"[2001:db8::/32]:443", "[2001:db8::/32]:443"},
		{"10.0.0.0/8:443", "10.0.0.0/8:443"},
		{"[fe80::1%25eth0]:80", "[fe80::1%eth0]:80"},
		{"HEAD,GET http://A.example", "GET,HEAD http://a.example/"},
		{"http://a.example:80/x", "http://a.example/x"},
		{"http://a.example:80,8080/x/", "http://a.example:80,8080/x/"},
		{"http://[::1]:8080/", "http://[::1]:8080/"},
		{"_srv.x", "_srv.x"},
		{"**.a-b.c", "**.a-b.c"},
	}
	for _, tt := range tests {
		r, err := parseHostRule(tt.text, true)
		if err != nil || r.String() != tt.want {
			t.Errorf("%q: %v, %v; want %q", tt.text, r, err, tt.want)
			continue
		}
		if again, err := parseHostRule(r.String(), true); err != nil || again.String() != tt.want {
			t.Errorf("%q again: %v, %v", tt.want, again, err)
		}
	}
}

func TestBadRules(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "no name"}, {"*", "--network open"}, {"**", "--network open"}, {"*.", "no name"}, {"**.*", "not a host name"},
		{"[*]", ""}, {"**.[*]", ""}, {"[", "bracket"}, {"*.*.x", "not a host name"}, {"a*b", "not a host name"},
		{"a b", "not a host name"}, {"a/b", "not a range"}, {"a..b", "empty part"}, {"-a.b", "dash"},
		{"*.10.0.0.1", "wildcard"}, {"a:0", "no port"}, {"a:x", "no port"}, {"a:70000", "no port"}, {"a:", "no port"}, {"a:080", "no port"}, {"a:80,", "no port"},
		{"0x7f.1", "odd spelling"}, {"0177.0.0.1", "odd spelling"}, {"2130706433", "odd spelling"}, {"127.1", "odd spelling"}, {"*.0x7f", "odd spelling"},
		{"10.0.0.1/8", "10.0.0.0/8"}, {"0.0.0.0/0", "--network open"}, {"::/0", "--network open"}, {"10.0.0.0/33", "not a range"},
		{"198.18.0.1", "stands for names"}, {"198.19.0.0/16", "stands for names"},
		{"https://a.example/", "URL"}, {"GET https://a.example/", "URL"}, {"get http://a.example/", "methods"}, {"GET, http://a.example/", "methods"},
		{"TRACE http://a.example/", "never"}, {"CONNECT http://a.example/", "never"},
		{"http://a.example/../x", "plain path"}, {"http://a.example/x?y", "plain path"}, {"http://a.example/%41", "plain path"}, {"http://u@a.example/", "user name"},
		{"http://*/", "every host"}, {"preset:nothing", "no host preset"}, {"xn--a.example", "international"},
		{"\u24d5\u24de\u24de.example\x00", "not a name"}, {"\uff11\uff12\uff17.0.0.1", "other characters"},
	}
	for _, tt := range tests {
		if _, err := CompileHosts(values(tt.text), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
	for _, text := range []string{"*", "[*]", "**.[*]", "["} {
		if _, err := CompileHosts(nil, values(text)); err == nil {
			t.Errorf("deny %q: want it refused", text)
		}
	}
	if _, err := CompileHosts(nil, values("0.0.0.0/0", "::/0", "198.18.0.0/15")); err != nil {
		t.Errorf("deny every address: %v", err)
	}
}
