package decide

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"

	"pgregory.net/rapid"
)

// drawnHome is a home with the places that the rules of the properties below name.
func drawnHome(t *testing.T) *savedHome {
	t.Helper()
	d := mountHome(t)
	for _, dir := range []string{"/a/b/c", "/z"} {
		if err := os.MkdirAll(d.project+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// looked are the places that decisions are compared at.
func (d *savedHome) looked() []string {
	var out []string
	for _, at := range []string{"", "/a", "/a/b", "/a/b/c", "/a/b/c/new", "/z", "/z/new", "/new"} {
		out = append(out, d.project+at)
	}
	return append(out, d.home, d.home+"/notes", d.home+"/notes/x", d.home+"/data/in", d.home+"/.ssh", d.home+"/.ssh/id_rsa", "/usr/bin",
		"/tmp/x")
}

// drawFiles gives rules about places of the home.
func (d *savedHome) drawFiles(t *rapid.T, what string, access ...policy.Access) []policy.FileRequest {
	places := rapid.SampledFrom([]string{d.project, d.project + "/a", d.project + "/a/b", d.project + "/z", d.home + "/notes",
		d.home + "/data"})
	var out []policy.FileRequest
	for range rapid.IntRange(0, 4).Draw(t, what) {
		out = append(out, policy.FileRequest{Place: places.Draw(t, "place"), Access: rapid.SampledFrom(access).Draw(t, "access"),
			Source: policy.Source{Layer: policy.LayerCommandLine, Text: "--rule"}})
	}
	return out
}

// byRules decides a run with rules of the command line.
func (d *savedHome) byRules(files []policy.FileRequest, change func(*Request)) (*Decision, error) {
	req := Request{Argv: []string{"true"}, Default: policy.Agent, Cwd: d.project, Environ: d.environ, Flags: policy.Request{Files: files}}
	if change != nil {
		change(&req)
	}
	return Prepare(req)
}

// amount orders accesses by what they allow.
func amount(a policy.Access) int {
	return map[policy.Access]int{policy.Read: 1, policy.Write: 2}[a]
}

// beyond says at which place one decision allows more than another, "" for nowhere.
func (d *savedHome) beyond(p, most *Decision) string {
	for _, at := range d.looked() {
		if has, may := p.Policy.Lookup(at).Access, most.Policy.Lookup(at).Access; amount(has) > amount(may) {
			return fmt.Sprintf("%s is %s, and was %s", at, has, may)
		}
	}
	return ""
}

// TestDenialNeverGrants: a denial holds whatever grants the same place, and allows nothing that
// was not allowed without it. The order of the rules of one layer says nothing.
func TestDenialNeverGrants(t *testing.T) {
	d := drawnHome(t)
	rapid.Check(t, func(t *rapid.T) {
		files := d.drawFiles(t, "rules", policy.Read, policy.Write, policy.Deny)
		p, err := d.byRules(files, nil)
		if err != nil {
			t.Skip(err)
		}
		turned := slices.Clone(files)
		slices.Reverse(turned)
		other, err := d.byRules(turned, nil)
		if err != nil {
			t.Fatalf("in another order: %v", err)
		}
		if a, b := d.beyond(p, other), d.beyond(other, p); a != "" || b != "" || p.Digest() != other.Digest() {
			t.Fatalf("in another order: %q %q", a, b)
		}
		denials := d.drawFiles(t, "denials", policy.Deny)
		more, err := d.byRules(slices.Concat(denials, files), nil)
		if err != nil {
			return // refused as a whole
		}
		if why := d.beyond(more, p); why != "" {
			t.Fatalf("with a denial more %s", why)
		}
		for _, f := range denials {
			if a := more.Policy.Lookup(f.Place).Access; a != policy.Deny {
				t.Fatalf("%s is denied, and %s", f.Place, a)
			}
		}
	})
}

// TestCeilingNeverWidens: whatever is asked for, a decision under a ceiling is within the one
// without it and within the ceiling, or is refused.
func TestCeilingNeverWidens(t *testing.T) {
	d := drawnHome(t)
	modes := []policy.NetworkMode{policy.NetClosed, policy.NetLocal, policy.NetFiltered, policy.NetOpen}
	mode := rapid.SampledFrom(modes)
	rank := func(m policy.NetworkMode) int { return slices.Index(modes, m) }
	rapid.Check(t, func(t *rapid.T) {
		files := d.drawFiles(t, "rules", policy.Read, policy.Write, policy.Deny)
		asked, most := mode.Draw(t, "asked"), mode.Draw(t, "most")
		ask := func(r *Request) { r.Flags.Network = said(policy.LayerCommandLine, asked) }
		p, err := d.byRules(files, ask)
		if err != nil {
			t.Skip(err)
		}
		writable := rapid.Bool().Draw(t, "writable")
		d.write(d.ceiling, fmt.Sprintf("network: %s\nmounts: [{host_path: %s, mode: %s}]", most, d.project, map[bool]string{true: "read_write",
			false: "read_only"}[writable]))
		under, err := d.byRules(files, func(r *Request) { ask(r); r.Permissions = d.ceiling })
		if err != nil {
			if len(policy.Refusals(err)) == 0 {
				t.Fatalf("under a ceiling: %v", err)
			}
			for _, r := range policy.Refusals(err) {
				if r.Dimension == policy.DimNetwork && rank(asked) <= rank(most) {
					t.Fatalf("network %s is refused under %s", asked, most)
				}
			}
			return
		}
		if rank(under.Policy.Network) > min(rank(most), rank(asked)) {
			t.Fatalf("%s under %s became %s", asked, most, under.Policy.Network)
		}
		if why := d.beyond(under, p); why != "" {
			t.Fatalf("under a ceiling %s", why)
		}
		for _, at := range d.looked() {
			l := under.Policy.Lookup(at)
			if l.Rule != nil && l.Rule.Path == "/tmp" { // private, where the test's home lies in it
				continue
			}
			readOnly := strings.HasPrefix(at, d.project) && !writable && l.Access == policy.Write
			if readOnly || strings.HasPrefix(at, d.home+"/notes") && amount(l.Access) > 0 {
				t.Fatalf("%s is %s beyond the ceiling", at, l.Access)
			}
		}
	})
}

// TestTightenedProfile: a profile that denies more is decided within the one that it was.
func TestTightenedProfile(t *testing.T) {
	d := drawnHome(t)
	rapid.Check(t, func(t *rapid.T) {
		list := func(name string, access policy.Access) string {
			var places []string
			for _, f := range d.drawFiles(t, name, access) {
				places = append(places, f.Place)
			}
			return name + ": [" + strings.Join(places, ", ") + "]\n"
		}
		wide := list("read", policy.Read) + list("write", policy.Write)
		by := func(text string) (*Decision, error) {
			return d.byRules(nil, func(r *Request) { r.Draft = d.draft(text) })
		}
		p, err := by(wide)
		if err != nil {
			t.Skip(err)
		}
		tight, err := by(wide + list("deny", policy.Deny) + "network: closed\nhome: none\n")
		if err != nil {
			return
		}
		if why := d.beyond(tight, p); why != "" || tight.Policy.Network != policy.NetClosed {
			t.Fatalf("%s, network %s", why, tight.Policy.Network)
		}
	})
}

// TestStrongestLayer: of the layers the command line wins over a variable, that over the user's
// file, that over a profile; a project's file only tightens. The project and the command line
// are told where they wanted more.
func TestStrongestLayer(t *testing.T) {
	d := mountHome(t)
	for _, tt := range []struct {
		flag, variable, user, profile, project string
		want                                   policy.NetworkMode
		warned                                 bool
	}{
		{"", "", "", "", "", policy.NetClosed, false},
		{"", "", "", "local", "", policy.NetLocal, false},
		{"", "", "open", "local", "", policy.NetOpen, false},
		{"", "local", "open", "closed", "", policy.NetLocal, false},
		{"open", "local", "closed", "closed", "", policy.NetOpen, false},
		{"closed", "open", "open", "open", "", policy.NetClosed, false},
		{"", "", "open", "", "local", policy.NetLocal, false},
		{"open", "", "", "", "closed", policy.NetClosed, true},
		{"", "", "local", "", "open", policy.NetLocal, true},
		{"", "", "", "", "open", policy.NetClosed, true},
	} {
		file := map[bool]string{true: "network: " + tt.user, false: "{}"}[tt.user != ""]
		d.write(d.project+"/.carrel.yaml", map[bool]string{true: "network: " + tt.project, false: "{}"}[tt.project != ""])
		p, err := d.mounted(file, func(r *Request) {
			if tt.flag != "" {
				r.Flags.Network = said(policy.LayerCommandLine, policy.NetworkMode(tt.flag))
			}
			if tt.variable != "" {
				r.Environ = append(slices.Clone(d.environ), "CARREL_NETWORK="+tt.variable)
			}
			if tt.profile != "" {
				r.Draft = d.draft("network: " + tt.profile)
			}
		})
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if p.Policy.Network != tt.want || (len(p.Policy.Warnings) > 0) != tt.warned {
			t.Errorf("%+v: %s, warnings %v", tt, p.Policy.Network, p.Policy.Warnings)
		}
	}
}
