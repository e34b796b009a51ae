package profile

import (
	"strings"
	"testing"

	"carrel/internal/policy"
)

func parse(t *testing.T, text string) *Profile {
	t.Helper()
	p, err := Parse("p", []byte(text), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLayer(t *testing.T) {
	p := parse(t, "env: {A: a}\nenvironment: {set: {B: b}}\nread: [/r]\nmounts: [{host_path: /m, mode: read_write}, {host_path: ~/n}, {host_path: /o, workspace_path: /w}]")
	l := p.Layer()
	if l.Kind != policy.LayerProfile || l.Name != "profile p" {
		t.Errorf("layer %v %q", l.Kind, l.Name)
	}
	if l.Request.EnvSet["A"].V != "a" || l.Request.EnvSet["B"].V != "b" || l.Request.EnvSet["A"].Source.Line != 1 {
		t.Errorf("variables %v", l.Request.EnvSet)
	}
	if _, ok := p.Request.EnvSet["A"]; ok {
		t.Error("the profile itself was changed")
	}
	var got []string
	for _, f := range l.Request.Files {
		got = append(got, f.Access.String()+" "+f.Place)
	}
	if s := strings.Join(got, ", "); s != "read /r, write /m, read ~/n, read /o" {
		t.Errorf("files %s", s)
	}
}

func TestDigest(t *testing.T) {
	a, b := parse(t, "home: none\nstrict: true"), parse(t, "# c\nstrict: true\nhome: 'none'")
	b.Name = "another"
	if a.Digest() != b.Digest() || len(a.Digest()) != 64 {
		t.Errorf("%s and %s differ", a.Digest(), b.Digest())
	}
	for _, other := range []string{"home: none", "home: full\nstrict: true", "strict: true\nhome: none\nenv: {A: a}"} {
		if parse(t, other).Digest() == a.Digest() {
			t.Errorf("%q has the digest of another", other)
		}
	}
}

func TestAt(t *testing.T) {
	p := parse(t, "cwd: ~/src\nmounts: [{host_path: ~/, mode: read_write}, {host_path: /x}]\nsetup: [{command: [a]}, {command: [b], cwd: sub}, {command: [c], cwd: ~/o}]\napps: [{command: [d], cwd: /abs}]")
	at, err := p.At("/h", "/start")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{at.Cwd, at.Mounts[0].Host, at.Mounts[0].Workspace, at.Setup[0].Cwd, at.Setup[1].Cwd, at.Setup[2].Cwd, at.Apps[0].Cwd}
	if s := strings.Join(got, " "); s != "/h/src /h /h /h/src /h/src/sub /h/o /abs" {
		t.Errorf("got %s", s)
	}
	if p.Cwd != "~/src" || p.Setup[1].Cwd != "sub" || p.Mounts[0].Host != "~" {
		t.Error("the profile itself was changed")
	}
	moved := parse(t, "cwd: /w/sub\nmounts: [{host_path: ~/src, workspace_path: /w}]\napps: [{command: [a], cwd: /w}, {command: [b], cwd: x}, {command: [c], cwd: /ww}]")
	if at, _ := moved.At("/h", "/start"); at.Cwd != "/h/src/sub" || at.Apps[0].Cwd != "/h/src" || at.Apps[1].Cwd != "/h/src/sub/x" || at.Apps[2].Cwd != "/ww" || at.Mounts[0].Workspace != "/w" {
		t.Errorf("moved: %+v", at)
	}
	if _, err := p.At("", "/start"); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("without a home: %v", err)
	}
	if at, _ := parse(t, "apps: [{command: [d]}]").At("", "/start"); at.Cwd != "/start" || at.Apps[0].Cwd != "/start" {
		t.Errorf("got %q, %q", at.Cwd, at.Apps[0].Cwd)
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "dev", "A.b-c_9", "_x", strings.Repeat("a", 64)} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", ".x", "-x", "a/b", "a b", "ä", "a\n", strings.Repeat("a", 65)} {
		if CheckName(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestTemplates(t *testing.T) {
	tests := []struct {
		t    Template
		want string // in the text, or in the error
		bad  bool
	}{
		{Template{Kind: "project-dev"}, "preset:npm", false},
		{Template{Kind: "project-dev", Project: "/p", Hosts: []string{"a.example"}}, "a.example", false},
		{Template{Kind: "project-dev", DataDir: "/d"}, "--data-dir", true},
		{Template{Kind: "browser-session", DataDir: "/d"}, `"--user-data-dir=/d"`, false},
		{Template{Kind: "browser-session", DataDir: "/d", Browser: "/usr/bin/firefox"}, `"--profile", /d`, false},
		{Template{Kind: "browser-session"}, "--data-dir", true},
		{Template{Kind: "restricted-browser", Hosts: []string{"a.example"}}, "a.example", false},
		{Template{Kind: "restricted-browser"}, "--allow-host", true},
		{Template{Kind: "restricted-browser", Hosts: []string{"a"}, DataDir: "/d"}, "keeps nothing", true},
		{Template{Kind: "x"}, "project-dev, browser-session, restricted-browser", true},
	}
	for _, tt := range tests {
		text, err := tt.t.Write()
		if (err != nil) != tt.bad {
			t.Errorf("%+v: %v", tt.t, err)
			continue
		}
		if err != nil {
			text = []byte(err.Error())
		} else if p := parse(t, string(text)); p.Description == "" {
			t.Errorf("%+v has no description", tt.t)
		}
		if !strings.Contains(string(text), tt.want) {
			t.Errorf("%+v: want %q in\n%s", tt.t, tt.want, text)
		}
	}
}
