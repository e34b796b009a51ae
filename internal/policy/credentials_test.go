package policy

import "testing"

func TestParseCredentialHost(t *testing.T) {
	for text, want := range map[string]CredentialHost{
		"github.com": {Name: "github.com"}, "GitHub.com": {Name: "github.com"}, "*.example.com": {Name: "example.com", Below: true}, "git.example.com:8443": {Name: "git.example.com", Port: 8443},
		"[::1]:8443": {Name: "::1", Port: 8443}, "127.0.0.1:80": {Name: "127.0.0.1", Port: 80}, "my_host": {Name: "my_host"},
	} {
		if got, err := ParseCredentialHost(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "*", "*.", "*.com", "a..b", "https://github.com", "github.com/x", "u@github.com", "github.com:0", "github.com:x", "github.com:", "github.com:070", "a b", "a\nb", "a*.com", "*.*.com", "-a.com", "[x]", "*.[::1]", "bücher.example", "::1"} {
		if got, err := ParseCredentialHost(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestCredentialHostCovers(t *testing.T) {
	for _, c := range []struct {
		entry, host string
		want        bool
	}{
		{"github.com", "github.com", true}, {"github.com", "github.com:443", true}, {"github.com:443", "github.com", true}, {"github.com", "github.com:8443", false}, {"github.com", "www.github.com", false},
		{"*.example.com", "git.example.com", true}, {"*.example.com", "a.b.example.com", true}, {"*.example.com", "example.com", false}, {"*.example.com", "evilexample.com", false},
		{"*.example.com", "*.example.com", false}, {"*.example.com:8443", "git.example.com", false}, {"*.example.com:8443", "git.example.com:8443", true},
	} {
		entry, err := ParseCredentialHost(c.entry)
		host, err2 := ParseCredentialHost(c.host)
		if err != nil || err2 != nil || entry.Covers(host, 443) != c.want {
			t.Errorf("%s covers %s: %v %v %v", c.entry, c.host, !c.want, err, err2)
		}
	}
}

func FuzzParseCredentialHost(f *testing.F) {
	for _, seed := range []string{"github.com", "*.example.com:8443", "[::1]:1", "a:b:c", ":", "]:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseCredentialHost(text)
		if err == nil && (h.Name == "" || h.Covers(h, 443) == h.Below) {
			t.Fatalf("%q: %+v", text, h)
		}
	})
}

func TestCredentialKeys(t *testing.T) {
	for text, good := range map[string]bool{"SHA256:x": true, "me@desk": true, "/home/me/.ssh/id.pub": true, "": false, "a\nb": false, "/home/../x": false} {
		if (BadCredentialKey(text) == "") != good {
			t.Errorf("ssh %q: %v", text, !good)
		}
	}
	for text, good := range map[string]bool{"0123456789ABCDEF": true, "0x0123456789abcdef!": true, "0123456789abcdef0123456789abcdef01234567": true, "ABCD": false, "me@example.com": false, "--batch": false, "": false} {
		if (BadSigningKey(text) == "") != good {
			t.Errorf("gpg %q: %v", text, !good)
		}
	}
}

func TestCheckCredentials(t *testing.T) {
	uses := []CredentialUse{{Kind: CredentialGit, Hosts: []string{"github.com"}, Source: Source{Layer: LayerUser, File: "f", Line: 2}}}
	of := func(m CredentialsMode) *Ceiling { return &Ceiling{Credentials: &Value[CredentialsMode]{V: m}} }
	for _, c := range []struct {
		ceilings []*Ceiling
		uses     []CredentialUse
		refused  int
	}{
		{nil, uses, 0}, {[]*Ceiling{nil, {}}, uses, 0}, {[]*Ceiling{of(CredentialsOn)}, uses, 0}, {[]*Ceiling{of(CredentialsOff)}, nil, 0}, {[]*Ceiling{of(CredentialsOn), of(CredentialsOff)}, uses, 1},
	} {
		err := CheckCredentials(c.ceilings, c.uses)
		if got := Refusals(err); len(got) != c.refused || (err == nil) != (c.refused == 0) || c.refused > 0 && got[0].Dimension != DimCredentials {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if !of(CredentialsOff).Restricted() || of(CredentialsOn).Restricted() {
		t.Error("off limits something, on nothing")
	}
}
