package decide

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"

	"pgregory.net/rapid"
)

// mountHome is a home with what should be in no workspace.
func mountHome(t *testing.T) *savedHome {
	t.Helper()
	d := newSavedHome(t)
	for _, dir := range []string{"notes", "data/in", ".ssh", "dot/ssh", ".config/carrel", ".config/gh", "src/shop/.git/hooks", "lib/.git", "bare/objects", "bare/refs", ".local/state/carrel", "run/carrel", "sockets", "docker/deep"} {
		if err := os.MkdirAll(d.home+"/"+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.write(d.home+"/.ssh/id_rsa", "key")
	d.write(d.home+"/bare/HEAD", "ref: refs/heads/main\n")
	links := map[string]string{"keys": ".ssh", "lnk": "data", ".gnupg": "dot/ssh", "farther": "lnk"}
	for name, to := range links {
		if err := os.Symlink(to, d.home+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *savedHome) configured(text string) { d.write(d.home+"/.config/carrel/config.yaml", text) }

// mounted decides and compiles a run by the user's configuration.
func (d *savedHome) mounted(text string, change func(*Request)) (*Decision, error) {
	d.configured(text)
	req := Request{Argv: []string{"true"}, Default: policy.Agent, Cwd: d.project, Environ: d.environ}
	if change != nil {
		change(&req)
	}
	p, err := Prepare(req)
	if err == nil {
		err = p.Preview()
	}
	return p, err
}

func TestExtraMounts(t *testing.T) {
	d := mountHome(t)
	p, err := d.mounted("extra_mounts: [~/notes, {host_path: ~/lnk, guest_path: /mnt/shared, writable: true}, ~/farther/in]", nil)
	if err != nil {
		t.Fatal(err)
	}
	// ~/farther/in lies in the writable one: the deeper rule makes it read-only.
	for at, want := range map[string]policy.Access{"/notes/x": policy.Read, "/data/x": policy.Write, "/data/in/x": policy.Read} {
		if a := p.Policy.Lookup(d.home + at).Access; a != want {
			t.Errorf("%s: %s, want %s", at, a, want)
		}
	}
	for at, to := range map[string]string{"/mnt/shared": "/data", d.home + "/farther/in": "/data/in"} {
		if held := holder(p.Plan, at); held == nil || held.Kind != sandbox.MakeSymlink || held.Source != d.home+to {
			t.Errorf("at %s is %+v", at, held)
		}
	}
	if len(p.Plan.Roots) != 2 || p.Plan.Roots[0] != d.home+"/data" && p.Plan.Roots[1] != d.home+"/data" {
		t.Errorf("roots %q", p.Plan.Roots)
	}
	a, err := p.AskPath("/mnt/shared/x")
	if err != nil || a.Path != d.home+"/data/x" || a.Decision.Access != policy.Write || !strings.Contains(a.Decision.Rule.Source.String(), "config.yaml:1:25: extra_mounts") {
		t.Errorf("asked for the place inside: %+v %v", a, err)
	}
	all := p.Mounts()
	if len(all) != 3 || all[1].Host != d.home+"/lnk" || all[1].Real != d.home+"/data" || all[1].Inside != "/mnt/shared" || all[1].Access != policy.Write {
		t.Errorf("mounts %+v", all)
	}
}

// TestExtraMountsRefused: each is refused with the line that asks for it.
func TestExtraMountsRefused(t *testing.T) {
	d := mountHome(t)
	if _, err := d.mounted("extra_mounts: ['~']", nil); err != nil {
		t.Errorf("home, read-only: %v", err)
	}
	for _, at := range []string{"/sockets/s", "/docker/deep/docker.sock"} {
		l, err := net.Listen("unix", d.home+at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	w := func(place string) string { return "{host_path: " + place + ", writable: true}" }
	inside := func(place string) string { return "{host_path: ~/data, guest_path: " + place + "}" }
	for entry, want := range map[string]string{
		"~/notes": "", "[]": "mistake", "~/src": "", "~/src/shop": "", "~/lib/.git": "", "~/data, ~/data/in": "",
		w("~/data"): "", w("~/src"): "", w("~/src/shop"): "", w("~/lib"): "", w("~/src/shop/new"): "no file or directory that is there",
		"~/gone":                       "no file or directory that is there",
		"/dev/null":                    "neither a file nor a directory",
		"~/sockets/s":                  "neither a file nor a directory",
		"~/keys":                       `which leads to "` + d.home + `/.ssh", cannot be shown: "` + d.home + `/.ssh" is hidden (secret:`,
		"~/.ssh/id_rsa":                "is hidden (secret:",
		"~/dot/ssh":                    "is hidden (secret:", // what ~/.gnupg leads to
		"~/dot":                        "",                   // read-only: it stays hidden there
		w("~/dot"):                     "is hidden (secret:",
		w("~/.config"):                 "carrel's own files",
		"~/.config":                    "",
		"~/.config/gh":                 "is hidden (secret:",
		"~/.config/carrel":             "carrel's own files",
		"~/.config/carrel/config.yaml": "carrel's own files",
		"~/.local/state/carrel":        "carrel's own files",
		"~/run/carrel":                 "carrel's own files",
		"/":                            "it is everything", w("/"): "it is everything", w(`"~"`): "your home directory", w(filepath.Dir(d.home)): "your home directory", `"~"`: "a program outside listens", // somewhere in it
		"/proc": "one of its own", "/tmp": "one of its own", "/run": "one of its own", "/dev": "one of its own",
		w("/etc"): "the system's", w("/usr"): "the system's",
		w("~/lib/.git"): "git acts", w("~/bare"): "git acts", w("~/bare/objects"): "git acts", w("~/src/shop/.git"): "the project's repository", w("~/src/shop/.git/hooks"): "the project's repository",
		"~/sockets": "a program outside listens", "~/docker": "a program outside listens", w("~/docker"): "a program outside listens",
		inside("/tmp"): "is there", inside("/run/carrel/x"): "workspace's own", inside("/proc/x"): "workspace's own", inside("/etc/x"): "workspace's own", inside("/"): "everything",
		inside("~/src/shop"): "is there", inside("~/src/shop/x"): "around it", inside(`"~"`): "in it", inside("/mnt/a"): "", inside("~/new/place"): "",
		inside("/mnt/a") + ", {host_path: ~/notes, guest_path: /mnt/a/b}": "around it",
		inside("~/notes/x") + ", ~/notes":                                 "around it",
		"~/lnk, " + w("~/data"):                                           "has one mode wherever it shows",
	} {
		_, err := d.mounted("extra_mounts:\n- "+strings.ReplaceAll(entry, "}, ", "}\n- "), nil)
		if strings.HasPrefix(entry, "~") && strings.Contains(entry, ", ") {
			_, err = d.mounted("extra_mounts: ["+entry+"]", nil)
		}
		got := ""
		if err != nil {
			got = err.Error()
			if !strings.Contains(got, d.home+"/.config/carrel/config.yaml:") {
				t.Errorf("%s: no line is named: %s", entry, got)
			}
			var denied *api.Denial
			if want != "mistake" && errors.As(err, &denied) {
				got += "\n" + denied.Hint
			}
		}
		if want == "" && got != "" || want == "mistake" && got == "" || want != "mistake" && !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", entry, got, want)
		}
	}
	// Nothing holds the names of another repository then.
	if _, err := d.mounted("history: \"off\"\nextra_mounts: ["+w("~/lib")+"]", nil); err == nil || !strings.Contains(err.Error(), "nothing protects") {
		t.Errorf("another working tree with the history off: %v", err)
	}
	problems, err := CheckMounts(Request{Cwd: d.project, Environ: d.environ})
	if err != nil || len(problems) != 0 {
		t.Errorf("checked: %v %v", problems, err)
	}
	d.configured("extra_mounts:\n- ~/notes\n- ~/keys")
	problems, err = CheckMounts(Request{Cwd: d.project, Environ: d.environ})
	if err != nil || len(problems) != 1 || problems[0].Line != 3 || strings.Contains(problems[0].Message, "config.yaml") {
		t.Errorf("checked: %+v %v", problems, err)
	}
}

// TestExtraMountsByOthers: a link that lies where commands write chooses nothing.
func TestExtraMountsByOthers(t *testing.T) {
	d := mountHome(t)
	for at, to := range map[string]string{"lib/out": "../data", "lib/within": ".git/..", "data/out": d.home + "/notes", "plain": d.home + "/lib/out/in", "src/shop/out": "../../data"} {
		if err := os.Symlink(to, d.home+"/"+at); err != nil {
			t.Fatal(err)
		}
	}
	for entry, want := range map[string]string{
		"~/lib/out":    "a link that leads out of",
		"~/lib/out/in": "a link that leads out of",
		"~/plain":      `"` + d.home + `/lib/out" is a link`,
		"~/lib/within": "",
		"~/data/out":   "", // nobody writes there
		"~/data/out, {host_path: ~/data, writable: true}": "a link that leads out of",
		"~/src/shop/out": "link that leads out of the project",
		"~/farther/in":   "",
	} {
		_, err := d.mounted("extra_mounts: ["+entry+"]", nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", entry, err, want)
		}
	}
}

// TestExtraMountsBeside: other layers, a ceiling, a profile, engines without links.
func TestExtraMountsBeside(t *testing.T) {
	d := mountHome(t)
	draft := func(text string) func(*Request) { return func(r *Request) { r.Draft = d.draft(text) } }
	for _, tt := range []struct{ user, profile, want string }{
		{"[~/data]", "mounts: [{host_path: ~/data}]", ""},
		{"[~/data]", "mounts: [{host_path: ~/data, mode: read_write}]", "has one mode"},
		{"[{host_path: ~/lnk, writable: true}]", "mounts: [{host_path: ~/data}]", "has one mode"},
		{"[{host_path: ~/data, guest_path: /mnt/a}]", "mounts: [{host_path: ~/notes, workspace_path: /mnt/a}]", "is there"},
		{"[{host_path: ~/data, guest_path: /mnt/a}]", "mounts: [{host_path: ~/data, workspace_path: /mnt/a}]", ""},
	} {
		_, err := d.mounted("extra_mounts: "+tt.user, draft(tt.profile))
		got := ""
		if err != nil {
			got = err.Error()
			var denied *api.Denial
			if errors.As(err, &denied) {
				got += denied.Hint
			}
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s beside %s: got %q, want %q", tt.user, tt.profile, got, tt.want)
		}
	}
	d.write(d.ceiling, "mounts: [{host_path: "+d.project+", mode: read_write}, {host_path: "+d.home+"/data}]")
	under := func(r *Request) { r.Permissions = d.ceiling }
	if _, err := d.mounted("extra_mounts: [~/lnk]", under); err != nil {
		t.Errorf("within the ceiling: %v", err)
	}
	for _, entry := range []string{"{host_path: ~/lnk, writable: true}", "~/notes"} {
		if _, err := d.mounted("extra_mounts: ["+entry+"]", under); len(policy.Refusals(err)) != 1 {
			t.Errorf("%s beyond the ceiling: %v", entry, err)
		}
	}
	// A project's file has none to give.
	d.write(d.project+"/.carrel.yaml", "\nextra_mounts: [~/data]")
	p, err := d.mounted("extra_mounts: [~/notes]", nil)
	if err != nil || len(p.Loaded.Warnings) != 1 || !strings.Contains(p.Loaded.Warnings[0].Source.String(), "/.carrel.yaml:2:1: extra_mounts") || holder(p.Plan, d.home+"/data/in").Kind == sandbox.MountBind {
		t.Errorf("of a project: %v %v", p.Loaded.Warnings, err)
	}
	if err := os.Remove(d.project + "/.carrel.yaml"); err != nil {
		t.Fatal(err)
	}
	// Two that differ in where they show alone are two policies.
	digest := func(entry string) string {
		p, err := d.mounted("extra_mounts: ["+entry+"]", nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest()
	}
	if a, b := digest("{host_path: ~/data, guest_path: /mnt/a}"), digest("{host_path: ~/data, guest_path: /mnt/b}"); a == b || b == digest("~/data") {
		t.Error("another place inside is no other policy")
	}
	p, err = d.mounted("extra_mounts: [{host_path: ~/data, guest_path: /mnt/a}]", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.engine.name = sandbox.EngineLandlock
	if err := p.mountLinksHeld(); err == nil || !strings.Contains(err.Error(), "landlock") {
		t.Errorf("landlock: %v", err)
	}
	none := func(r *Request) {
		r.Flags.Backend = &policy.Value[policy.Backend]{V: policy.BackendNone}
	}
	p, err = d.mounted("extra_mounts: [{host_path: ~/lnk, writable: true}]", none)
	if err != nil || !strings.Contains(strings.Join(p.Plan.Roots, " "), d.home+"/data") {
		t.Errorf("without walls: %v", err)
	}
	if _, err = d.mounted("extra_mounts: [{host_path: ~/lnk, guest_path: /mnt/a}]", none); err == nil {
		t.Error("without walls a mount shows elsewhere")
	}
}

// TestBadPlace: whatever is placed, no link lies in another mount or around it.
func TestBadPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom([]string{"/", "/a", "/a/b", "/a/b/c", "/d", "/d/e", "/tmp", "/tmp/x", "/run/x", "/usr", "/ab"})
		var all []shown
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			m := shown{}
			m.Host, m.Workspace = place.Draw(t, "host"), place.Draw(t, "inside")
			all = append(all, m)
		}
		for i, m := range all {
			if m.Workspace == m.Host || badPlace(all, i) != "" {
				continue
			}
			for j, o := range all {
				same := o.Host == m.Host && o.Workspace == m.Workspace
				if i == j || same {
					continue
				}
				for _, taken := range []string{o.Host, o.Workspace} {
					if pathname.Within(taken, m.Workspace) && taken != m.Workspace || pathname.Within(m.Workspace, taken) {
						t.Fatalf("%+v is taken beside %+v", m, o)
					}
				}
			}
			if m.Workspace == "/" || pathname.Within(m.Workspace, "/run") || pathname.Within(m.Workspace, "/usr") {
				t.Fatalf("%+v is taken", m)
			}
		}
	})
}
