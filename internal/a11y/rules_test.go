package a11y

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRulesDenyActing: without control, what acts is let through for no one but the
// admitted name, and the rules are well-formed.
func TestRulesDenyActing(t *testing.T) {
	type rule struct {
		Member    string `xml:"receive_member,attr"`
		Interface string `xml:"receive_interface,attr"`
		Type      string `xml:"receive_type,attr"`
		Sender    string `xml:"receive_sender,attr"`
		Own       string `xml:"own,attr"`
	}
	read := func(r Rules) (allow, deny []rule) {
		var c struct {
			Policy struct {
				Context string `xml:"context,attr"`
				Allow   []rule `xml:"allow"`
				Deny    []rule `xml:"deny"`
			} `xml:"policy"`
		}
		if err := xml.Unmarshal(r.Config(), &c); err != nil || c.Policy.Context != "mandatory" {
			t.Fatalf("%v: %s", err, r.Config())
		}
		return c.Policy.Allow, c.Policy.Deny
	}
	people := map[string]bool{"a.waits": false, "a.acts": true}
	allow, deny := read(Rules{People: people})
	for _, r := range allow {
		whole := r.Member == "" && slices.Contains(readable, r.Interface)
		asks := slices.ContainsFunc([]string{"Get", "Is", "Contains", "Deregister"}, func(p string) bool { return strings.HasPrefix(r.Member, p) })
		if r.Type != "method_call" || !whole && !(asks && r.Interface != "") && r.Sender != "a.acts" {
			t.Errorf("allowed: %+v", r)
		}
	}
	if !slices.Contains(deny, rule{Type: "method_call"}) || !slices.Contains(deny, rule{Own: "a.acts"}) || !slices.Contains(deny, rule{Own: "a.waits"}) {
		t.Errorf("denied: %+v", deny)
	}
	allow, deny = read(Rules{Active: true})
	if len(allow) != 0 || !slices.Contains(deny, rule{Interface: applicationFace, Member: "GetApplicationBusAddress"}) || slices.Contains(deny, rule{Type: "method_call"}) {
		t.Errorf("while active: allowed %+v, denied %+v", allow, deny)
	}
}

// TestSystemConfig: the system's configurations of the bus include the rules, wherever
// the launcher is installed; one that cannot be understood counts as none.
func TestSystemConfig(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	service := file("[D-BUS Service]\nName=org.a11y.Bus\nExec=/nix/store/x/libexec/at-spi-bus-launcher --now\n")
	const shared = "nix/store/x/share/defaults/at-spi2/accessibility.conf"
	got := SystemConfig(fstest.MapFS{
		serviceDirs[0] + "/org.a11y.Bus.service": service, shared: file("<busconfig>\n</busconfig>\n"), localConfig: file("<busconfig></busconfig>"),
	}, "/rules&")
	if len(got) != 2 || string(got["/"+shared]) != "<busconfig>\n  <include>/rules&amp;</include>\n</busconfig>\n" || !strings.Contains(string(got["/"+localConfig]), "<include>") {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"", "<!-- nothing -->"} {
		if got := SystemConfig(fstest.MapFS{serviceDirs[0] + "/org.a11y.Bus.service": service, shared: file(text)}, "/rules"); len(got) != 0 {
			t.Errorf("%q gave %q", text, got)
		}
	}
}
