package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// TestProjectSection: a section of the user's file is a layer over the rest of it in its
// project, and nowhere else; a project's own file has none.
func TestProjectSection(t *testing.T) {
	m := newMachine(t)
	file := m.write("home/u/.config/carrel/config.yaml", "home: none\nprojects:\n  "+m.opts.Project+"-other:\n    read: [/elsewhere]\n  "+
		m.opts.Project+":\n    network: {allow_hosts: [a.example]}\n    read: [.env]\n")
	m.write("p/.carrel.yaml", "projects:\n  "+m.opts.Project+": {write: [/]}\n")
	l := m.load()
	var user []policy.Layer
	for _, one := range l.Layers {
		if one.Kind == policy.LayerUser {
			user = append(user, one)
		} else if len(one.Request.Files) > 0 {
			t.Errorf("another layer asks for files: %+v", one)
		}
	}
	if len(user) != 2 || !user[0].Section || user[1].Section || len(user[1].Request.Files) > 0 {
		t.Fatalf("layers: %+v", user)
	}
	r := user[0].Request
	if len(r.AllowHosts) != 1 || len(r.Files) != 1 || r.Files[0].Place != ":project/.env" ||
		r.Files[0].Source.File != file || r.Files[0].Source.Line != 7 {
		t.Errorf("the section: %+v", r)
	}
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Message, "belongs to the user") {
		t.Errorf("warnings: %v", l.Warnings)
	}
	m.write("home/u/.config/carrel/config.yaml", "projects:\n  relative: {}\n  /a/../b: {}\n  /c: {presets: {}}\n")
	m.fails(`"relative" is not the absolute path`, `"/a/../b" is not`, `unknown key "presets"`)
}

// TestGrants: what is added is there once, and goes without a trace of it.
func TestGrants(t *testing.T) {
	const was = "# mine\nhome: none\n"
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	g := Grants{Hosts: []string{"a.example:443"}, Read: []string{".env"}, Write: []string{"/d"}, Env: []string{"NAME"}}
	for range 2 {
		if err := AddGrants(file, "/p", g); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := os.ReadFile(file)
	d, problems := decodeFile(text, file, KindUser, Options{})
	if len(problems) > 0 || len(d.projects) != 1 || len(d.values) != 5 {
		t.Fatalf("%v, %+v in\n%s", problems, d.projects, text)
	}
	missing, err := RemoveGrants(file, "/p", Grants{Hosts: g.Hosts, Read: []string{"other"}})
	if err != nil || !slices.Equal(missing, []string{"other"}) {
		t.Errorf("missing: %q, %v", missing, err)
	}
	if now, _ := os.ReadFile(file); string(now) != string(text) {
		t.Errorf("a removal that failed left\n%s", now)
	}
	if missing, err := RemoveGrants(file, "/p", g); err != nil || len(missing) > 0 {
		t.Errorf("missing: %q, %v", missing, err)
	}
	if now, _ := os.ReadFile(file); string(now) != was {
		t.Errorf("left:\n%s", now)
	}
	for _, bad := range []string{"p", "/p/", "/p\xff"} {
		if err := AddGrants(file, bad, g); err == nil {
			t.Errorf("%q has a section", bad)
		}
	}
	if err := AddGrants(file, "/p", Grants{Hosts: []string{"*"}}); err == nil {
		t.Error("a rule that is none was written")
	}
}

// Names that are no text are written as base64, and found again under their own bytes.
func TestGrantsOfNamesThatAreNoText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	project := "/new\nline"
	g := Grants{Read: []string{"a\nb", "c\xff"}}
	more := Grants{Hosts: []string{"example.org"}, Read: []string{"YQpi"}} // "a\nb" in base64
	for _, g := range []Grants{g, more, g} {
		if err := AddGrants(file, project, g); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range []Grants{g, more} {
		if missing, err := RemoveGrants(file, project, g); err != nil || len(missing) > 0 {
			t.Fatalf("removing %q: missing %q, %v", g, missing, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "read") {
		t.Errorf("left: %s, %v", text, err)
	}
}
