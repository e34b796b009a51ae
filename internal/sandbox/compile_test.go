package sandbox

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// fakeFacts is a machine of which only these paths exist. A value that is a
// path makes the key a symlink to it.
type fakeFacts map[string]string

func (f fakeFacts) Resolve(p string) (string, Kind) {
	switch v, ok := f[p]; {
	case !ok:
		return p, KindNone
	case v == "dir":
		return p, KindDir
	case v == "file":
		return p, KindFile
	case v == "other":
		return p, KindOther
	default:
		return f.Resolve(v)
	}
}

func (f fakeFacts) Identity(p string) (dev, ino uint64) { return 1, uint64(len(p)) }

var machine = fakeFacts{
	"/usr": "dir", "/etc": "dir", "/w": "dir", "/w/docs": "dir", "/w/docs/public": "dir", "/w/blocked": "dir", "/w/blocked/allowed": "dir",
	"/w/.env": "file", "/w/a": "dir", "/w/a/b": "dir", "/w/a/b/key": "file", "/h": "dir", "/h/.ssh": "dir", "/h/tools": "/data/tools", "/data/tools": "dir",
	"/b": "dir", "/b/allowed": "dir", "/b/allowed/note.txt": "file", "/w/sock": "other", "/w/link": "/w/docs", "/bin/carrel": "file", "/tmp": "dir", "/tmp/p": "dir",
	"/dev/kvm": "other",
}

func rules(specs ...string) []policy.Rule {
	var out []policy.Rule
	for _, s := range specs {
		path, access, _ := strings.Cut(s, "=")
		r := policy.Rule{Path: path, Source: policy.Source{Layer: policy.LayerUser, Text: s}}
		switch access {
		case "read":
			r.Access = policy.Read
		case "write":
			r.Access = policy.Write
		case "deny":
			r.Access = policy.Deny
		}
		out = append(out, r)
	}
	return out
}

func compile(t *testing.T, change func(*Input), specs ...string) *Plan {
	t.Helper()
	in := Input{UID: 1000, GID: 1000, Self: "/bin/carrel", Policy: &policy.Effective{
		Scope: policy.Scope{Home: "/h", Tmp: "/tmp", Project: "/w", Cwd: "/w"}, Rules: rules(specs...),
		Network: policy.NetClosed, Nested: policy.NestedUserns,
	}}
	if change != nil {
		change(&in)
	}
	p, err := Compile(in, machine)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// brief names the steps at or below the given places, in order.
func brief(p *Plan, places ...string) []string {
	names := map[MountKind]string{MountBind: "bind", MountTmpfs: "tmpfs", MountMask: "mask", MountSelf: "pin", Freeze: "freeze",
		MakeSymlink: "link", MountOverlay: "overlay", MountData: "data", WriteFile: "write", MountDevice: "device"}
	var out []string
	for _, m := range p.Mounts {
		if !slices.ContainsFunc(places, func(place string) bool { return m.Target == place || strings.HasPrefix(m.Target, place+"/") }) {
			continue
		}
		mode := ""
		if m.Kind == MountBind && !m.ReadOnly {
			mode = " rw"
		}
		out = append(out, names[m.Kind]+" "+m.Target+mode)
	}
	return out
}

// TestMountPlanning: one row a policy; the steps in their exact order.
func TestMountPlanning(t *testing.T) {
	for _, row := range []struct {
		name  string
		rules []string
		in    []string
		want  []string
	}{
		{"a read", []string{"/usr=read"}, []string{"/usr"}, []string{"bind /usr"}},
		{"the writable root before its mask", []string{"/w/blocked=deny", "/w=write"}, []string{"/w"}, []string{"bind /w rw", "mask /w/blocked"}},
		{"read carve-out, then a writable part of it", []string{"/w=write", "/w/docs=read", "/w/docs/public=write"}, []string{"/w"},
			[]string{"bind /w rw", "bind /w/docs", "bind /w/docs/public rw"}},
		{"a grant below a deny outside every root", []string{"/b=deny", "/b/allowed=write"}, []string{"/b"}, []string{"bind /b/allowed rw"}},
		{"a grant below a deny below a root", []string{"/w=write", "/w/blocked=deny", "/w/blocked/allowed=write"}, []string{"/w"},
			[]string{"bind /w rw", "tmpfs /w/blocked", "bind /w/blocked/allowed rw", "freeze /w/blocked"}},
		{"a file below a deny", []string{"/b=read", "/b/allowed=deny", "/b/allowed/note.txt=write"}, []string{"/b"},
			[]string{"bind /b", "tmpfs /b/allowed", "bind /b/allowed/note.txt rw", "freeze /b/allowed"}},
		{"what its surroundings give needs no step", []string{"/w=write", "/w/docs=write"}, []string{"/w"}, []string{"bind /w rw"}},
		{"a deep deny pins what lies above it", []string{"/w=write", "/w/a/b/key=deny"}, []string{"/w"},
			[]string{"bind /w rw", "pin /w/a", "pin /w/a/b", "mask /w/a/b/key"}},
		{"a deny of what is not visible", []string{"/h/.ssh=deny"}, []string{"/h"}, []string{"tmpfs /h"}},
		{"home granted: secrets in it are masked", []string{"/h=read", "/h/.ssh=deny"}, []string{"/h"}, []string{"bind /h", "mask /h/.ssh"}},
		{"home private: a grant in it is bound back", []string{"/h/.ssh=read"}, []string{"/h"}, []string{"tmpfs /h", "bind /h/.ssh"}},
		{"a toolchain behind a link", []string{"/h/tools=read"}, []string{"/h", "/data"}, []string{"tmpfs /h", "bind /data/tools", "link /h/tools"}},
		{"deny through a link masks what it leads to", []string{"/w=write", "/w/link=deny"}, []string{"/w"}, []string{"bind /w rw", "mask /w/docs"}},
		{"the project below /tmp", []string{"/tmp/p=write"}, []string{"/tmp"}, []string{"tmpfs /tmp", "bind /tmp/p rw"}},
		{"an explicit /tmp is the host's", []string{"/tmp=write"}, []string{"/tmp"}, []string{"bind /tmp rw"}},
		{"deny of / is nothing", []string{"/=deny", "/usr=read"}, []string{"/usr"}, []string{"bind /usr"}},
		{"missing paths make no step", []string{"/nowhere=read", "/w=write", "/w/missing=deny"}, []string{"/w", "/nowhere"}, []string{"bind /w rw"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := brief(compile(t, nil, row.rules...), row.in...); !slices.Equal(got, row.want) {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
			slices.Reverse(row.rules)
			if got := brief(compile(t, nil, row.rules...), row.in...); !slices.Equal(got, row.want) {
				t.Errorf("reversed rules give %q", got)
			}
		})
	}
}

// TestFoundPathsBeatRules: what a glob denies is not shown by a rule for the
// same path, and what was found on disk is never followed to another place.
func TestFoundPathsBeatRules(t *testing.T) {
	found := func(in *Input) { in.Expanded = rules("/h/.ssh=deny", "/w/link=read", "/w/docs=deny") }
	p := compile(t, found, "/h/.ssh=read", "/w=write")
	if got, want := brief(p, "/h", "/w"), []string{"tmpfs /h", "bind /w rw", "mask /w/docs"}; !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
}

// TestOverlays: a deny inside one is laid over it; a private one never shows
// the host's content.
func TestOverlays(t *testing.T) {
	p := compile(t, func(in *Input) {
		in.Overlays = []Overlay{{Path: "/w/docs", Lower: "/w", Upper: "/up", Work: "/work"}, {Path: "/h/cache", Upper: "/up2", Private: true}}
	}, "/w=write", "/w/docs=read", "/w/docs/public=deny")
	if got, want := brief(p, "/w", "/h"), []string{"tmpfs /h", "bind /w rw", "bind /h/cache rw", "overlay /w/docs", "mask /w/docs/public"}; !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
	for _, m := range p.Mounts {
		if m.Target == "/h/cache" && m.Source != "/up2" {
			t.Errorf("the private cache shows %s", m.Source)
		}
	}
}

func TestMissingPathOfTheCommandLineIsAnError(t *testing.T) {
	in := Input{Policy: &policy.Effective{Rules: []policy.Rule{{Path: "/nowhere", Access: policy.Read,
		Source: policy.Source{Layer: policy.LayerCommandLine, Text: "--read"}}}}}
	if _, err := Compile(in, machine); err == nil || !strings.Contains(err.Error(), `--read: "/nowhere" does not exist`) {
		t.Errorf("got %v", err)
	}
}

func TestSocketsAreNotGrantedByFileRules(t *testing.T) {
	in := Input{Policy: &policy.Effective{Rules: rules("/w/sock=read")}}
	if _, err := Compile(in, machine); err == nil || !strings.Contains(err.Error(), "neither a file nor a directory") {
		t.Errorf("got %v", err)
	}
}

// TestEveryPlan: what holds whatever the policy says.
func TestEveryPlan(t *testing.T) {
	for _, uid := range []uint32{0, 1000} {
		for _, nested := range []policy.Nesting{policy.NestedNone, policy.NestedUserns, policy.NestedFull} {
			p := compile(t, func(in *Input) {
				in.UID, in.Policy.Nested, in.Landlock, in.Scopes = uid, nested, true, true
			}, "/usr=read", "/w=write")
			at := make(map[string]int)
			for i, m := range p.Mounts {
				if _, again := at[m.Target]; !again {
					at[m.Target] = i
				}
				for _, other := range p.Mounts[:i] {
					if m.Kind != Freeze && strings.HasPrefix(other.Target, m.Target+"/") {
						t.Errorf("uid %d %s: %s comes after %s, and would hide it", uid, nested, m.Target, other.Target)
					}
				}
			}
			if _, ok := at["/proc/sys"]; ok != (uid == 0) {
				t.Errorf("uid %d %s: /proc/sys read-only is %v", uid, nested, ok)
			}
			if p.Landlock.Files != (nested != policy.NestedFull) {
				t.Errorf("%s: Landlock file rules %v: with them nothing inside can mount", nested, p.Landlock.Files)
			}
			if !p.NewNet || p.Loopback {
				t.Errorf("a closed network: NewNet %v, Loopback %v", p.NewNet, p.Loopback)
			}
			want := map[policy.Nesting]string{policy.NestedNone: "[{max_user_namespaces 0} {max_inotify_instances 32}]", policy.NestedUserns: "[{max_mnt_namespaces 0} {max_user_namespaces 1000} {max_pid_", policy.NestedFull: "[{max_user_namespaces 1000} {max_mnt_namespaces 1000} {max_pid_"}
			if uid == 0 {
				want[policy.NestedFull] = "[{max_cgroup_namespaces 0} {max_user_namespaces 1000} {max_mnt_"
			}
			if got := fmt.Sprint(p.UserLimits); !strings.HasPrefix(got, want[nested]) {
				t.Errorf("%s: limits %s", nested, got)
			}
		}
	}
}

// TestSourcesAreKnownByIdentity: a name is not enough, somebody may exchange
// what it leads to before the stage mounts it.
func TestSourcesAreKnownByIdentity(t *testing.T) {
	for _, m := range compile(t, nil, "/usr=read", "/w=write", "/w/docs=read").Mounts {
		if m.Kind == MountBind && m.Ino != uint64(len(m.Source)) {
			t.Errorf("%s is mounted by its name alone", m.Source)
		}
	}
}

func TestNetworkModes(t *testing.T) {
	const ports = " 127.0.0.1:80 [::1]:80? 127.0.0.1:5432 [::1]:5432?"
	for mode, want := range map[policy.NetworkMode]struct {
		net, lo, pool bool
		listeners     string
	}{
		policy.NetClosed:   {true, false, false, ""},
		policy.NetLocal:    {true, true, false, ports},
		policy.NetFiltered: {true, true, true, " 198.18.0.1:3128 198.18.0.1:53 198.18.0.1:53" + ports},
		policy.NetOpen:     {false, false, false, ""},
	} {
		p := compile(t, func(in *Input) { in.Policy.Network, in.HostPorts = mode, []uint16{5432, 80, 5432} })
		listeners := ""
		for _, l := range p.Listeners {
			listeners += " " + l.Address
			if l.Optional {
				listeners += "?"
			}
		}
		if p.NewNet != want.net || p.Loopback != want.lo || p.Pool != want.pool || listeners != want.listeners {
			t.Errorf("%s: got %v %v %v %q want %v", mode, p.NewNet, p.Loopback, p.Pool, listeners, want)
		}
	}
}

// TestPortListeners: the listeners of both families are found by the host's port,
// those of the egress by none.
func TestPortListeners(t *testing.T) {
	p := compile(t, func(in *Input) { in.Policy.Network, in.HostPorts = policy.NetFiltered, []uint16{80, 53} })
	got := PortListeners(p)
	if want := map[uint16][]int{53: {3, 4}, 80: {5, 6}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v want %v", got, want)
	}
}

// TestGeneratedFiles: over a host directory a file is bound, in memory it is
// written; and it wins over a mask above it.
func TestGeneratedFiles(t *testing.T) {
	p := compile(t, func(in *Input) {
		in.Files = []Mount{{Kind: MountData, Target: "/etc/passwd"}, {Kind: MountData, Target: "/h/.gitconfig"}}
	}, "/etc=read")
	if got, want := brief(p, "/etc/passwd", "/h/.gitconfig"), []string{"data /etc/passwd", "write /h/.gitconfig"}; !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
}

func TestTooManyMounts(t *testing.T) {
	facts := fakeFacts{"/w": "dir", "/bin/carrel": "file"}
	all := rules("/w=write")
	for i := range maxMounts + 1 {
		name := fmt.Sprintf("/w/%d", i)
		facts[name] = "file"
		all = append(all, policy.Rule{Path: name, Access: policy.Deny})
	}
	in := Input{Policy: &policy.Effective{Rules: rules("/w=write")}, Expanded: all, Self: "/bin/carrel"}
	if _, err := Compile(in, facts); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
}
