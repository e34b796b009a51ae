package foreign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/internal/lowlevel"
	"carrel/internal/policy"
	"carrel/sandbox/policyfile"
)

var options = Options{Cwd: "/w", Home: "/home/u", TmpDir: "/var/tmp/u"}

type reader = func([]byte, Options) (*Imported, error)

// imported reads a file, and reads what comes out of it as `carrel sandbox` does.
func imported(t testing.TB, read reader, o Options, text string) *Imported {
	t.Helper()
	in, err := read([]byte(text), o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	written, err := json.Marshal(in.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if in.Policy, err = policyfile.Parse(written, "imported"); err != nil {
		t.Fatalf("%s: %v", written, err)
	}
	return in
}

// decided is the imported policy as our resolver sees it.
func decided(t testing.TB, p *policyfile.Policy) *policy.Effective {
	t.Helper()
	flags := lowlevel.Request(p, "imported", []string{"true"}, nil).Flags
	e, err := policy.Decide(policy.Scope{Cwd: "/w", Project: "/w", System: []string{"/usr", "/etc"}}, nil,
		[]policy.Layer{{Kind: policy.LayerCommandLine, Request: flags}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// resolved says what a path may: read, write or deny, which is also where no
// rule speaks of it.
func resolved(e *policy.Effective, path string) string {
	switch e.Lookup(path).Access {
	case policy.Read:
		return "read"
	case policy.Write:
		return "write"
	}
	return "deny"
}

// entry writes one of Codex's: "PLACE=ACCESS", PLACE a path, "*GLOB" or ":KIND".
func entry(spec string) string {
	place, access, _ := strings.Cut(spec, "=")
	at := fmt.Sprintf(`{"type": "path", "path": %q}`, place)
	switch kind, sub, below := strings.Cut(place, "|"); {
	case place[0] == '*':
		at = fmt.Sprintf(`{"type": "glob_pattern", "pattern": %q}`, place[1:])
	case place[0] == ':' && below:
		at = fmt.Sprintf(`{"type": "special", "value": {"kind": %q, "subpath": %q}}`, kind[1:], sub)
	case place[0] == ':':
		at = fmt.Sprintf(`{"type": "special", "value": {"kind": %q}}`, kind[1:])
	}
	return fmt.Sprintf(`{"path": %s, "access": %q}`, at, access)
}

func split(specs ...string) string {
	entries := make([]string, len(specs))
	for i, s := range specs {
		entries[i] = entry(s)
	}
	return `{"kind": "restricted", "entries": [` + strings.Join(entries, ", ") + `]}`
}

// TestCodexResolvesAlike: the same path gets the same answer from Codex's rules
// and from ours.
func TestCodexResolvesAlike(t *testing.T) {
	nested := []string{":project_roots=write", "/w/docs=read", "/w/docs/private=deny", "/w/docs/private/public=write"}
	reversed := slices.Clone(nested)
	slices.Reverse(reversed)
	answers := map[string]string{"/w": "write", "/w/x": "write", "/w/docs": "read", "/w/docs/a": "read", "/w/docs/private": "deny", "/w/docs/private/a": "deny", "/w/docs/private/public": "write", "/w/docs/private/public/a": "write", "/": "deny", "/v": "deny"}
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"nested", split(nested...), answers},
		{"nested, in the other order", split(reversed...), answers},
		{"all but one directory", split(":root=write", "/w/docs=read"), map[string]string{"/": "write", "/w/docs": "read", "/w/docs/x": "read", "/w/x": "write", "/.git/config": "read"}},
		{"read and write of one path", split(":root=write", "/w/docs=read", "/w/docs=write"), map[string]string{"/w/docs": "write", "/.git": "write"}},
		{"write and deny of the root", split(":root=write", ":root=deny"), map[string]string{"/": "deny", "/w": "deny", "/.git/a": "deny"}},
		{"one directory", split(":root=deny", "/w/docs=read"), map[string]string{"/w/docs": "read", "/w/docs/a": "read", "/w": "deny"}},
		{"an unknown place to write", split(":root=read", ":future=write"), map[string]string{"/": "read", "/future": "read", "/w": "read"}},
		{"protected names", split("/w=write"), map[string]string{"/w/.git/config": "read", "/w/.agents/config": "read", "/w/.codex/config.toml": "read", "/w/src/a": "write", "/w/sub/.git/config": "write"}},
		{"one of them granted", split(":project_roots=write", "/w/.codex=write"), map[string]string{"/w/.codex/config.toml": "write", "/w/.git/config": "read"}},
		{"something in one granted", split("/w=write", "/w/.git/x=write"), map[string]string{"/w/.git/x/a": "write", "/w/.git/config": "write"}},
		{"one of them denied", split("/w=write", "/w/.codex=deny"), map[string]string{"/w/.codex/a": "deny"}},
		{"a place below the directory", split(":project_roots|docs/../public=write"), map[string]string{"/w/public/f": "write", "/outside": "deny", "/w/x": "deny"}},
		{"the old name of the directory", split(":current_working_directory=write"), map[string]string{"/w/x": "write", "/w/.git/x": "read"}},
		{"two slashes", split(":root=read", "//server/share/secret=deny"), map[string]string{"//server/share/secret": "deny", "/server/share": "read"}},
		{"a letter of a drive", split(":root=read", "/C:/secret=deny"), map[string]string{"/C:/secret/a": "deny", "/C:": "read"}},
		{"an extra root with a repository", split(":root=read", "/extra=write"), map[string]string{"/extra/a": "write", "/extra/.git/HEAD": "read"}},
		{"write and deny of one path", split("/w=write", "/w=deny"), map[string]string{"/w": "deny", "/w/a": "deny", "/w/.git/config": "deny"}},
		{"minimal, and a part of it denied", split(":minimal=read", "/nix=deny", "/=deny"), map[string]string{"/nix/store/a": "deny", "/usr": "read"}},
		{"none, as it was spelled", split(":root=read", "/w/a=none"), map[string]string{"/w/a": "deny"}},
		{"temporary directories", split(":tmpdir=write", ":slash_tmp=read"), map[string]string{"/var/tmp/u/x": "write", "/tmp/x": "read"}},
		{"minimal", split(":minimal=read"), map[string]string{"/usr/bin/env": "read", "/etc/passwd": "read", "/opt": "deny", "/home": "deny"}},
		{"everything, but a pattern", `{"kind": "unrestricted", "entries": [` + entry("*/p/**/*.env=deny") + `]}`, map[string]string{"/p/a/b.env": "deny", "/p/a/b": "write", "/": "write", "/.git/x": "write"}},
		{"somebody else's walls", `{"kind": "external-sandbox"}`, map[string]string{"/": "write"}},
		{"read-only", `{"type": "read-only"}`, map[string]string{"/": "read", "/w": "read"}},
		{"read-only, of some", `{"type": "read-only", "access": {"type": "restricted", "include_platform_defaults": false, "readable_roots": ["/w/docs"]}}`, map[string]string{"/w/docs/a": "read", "/usr": "deny"}},
		{"the workspace", `{"type": "workspace-write", "exclude_slash_tmp": true, "exclude_tmpdir_env_var": true, "writable_roots": ["/x"]}`,
			map[string]string{"/": "read", "/w/src/main.rs": "write", "/w/.codex/config.toml": "read", "/w/.agents/skills/x/SKILL.md": "read", "/w/.git/config": "read", "/x/a": "write", "/x/.git/a": "read", "/tmp/a": "read", "/var/tmp/u": "read"}},
		{"the workspace with temporary directories", `{"type": "workspace-write"}`, map[string]string{"/tmp/a": "write", "/var/tmp/u/a": "write"}},
		{"no walls", `{"type": "danger-full-access"}`, map[string]string{"/": "write", "/w/.git/config": "write"}},
		{"a profile", `{"type": "managed", "file_system": {"type": "restricted", "entries": [` + entry(":project_roots=write") + `], "glob_scan_max_depth": 3}, "network": "restricted"}`, map[string]string{"/w/a": "write", "/": "deny"}},
		{"the configuration", "model = \"x\"\nsandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nwritable_roots = [\"/x\"]\n", map[string]string{"/w/a": "write", "/x/a": "write", "/": "read"}},
		{"named permissions", "default_permissions = \"p\"\n[permissions.p.filesystem]\n\":root\" = \"read\"\n\"/abs\" = \"write\"\nglob_scan_max_depth = 2\n[permissions.p.filesystem.\":workspace_roots\"]\n\".\" = \"write\"\n\"docs\" = \"read\"\n\"**/*.env\" = \"none\"\n",
			map[string]string{"/w/a": "write", "/w/docs/a": "read", "/w/x/.env": "deny", "/w/a.env": "deny", "/abs/x": "write", "/usr": "read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := decided(t, imported(t, Codex, options, c.text).Policy)
			for path, want := range c.want {
				if got := resolved(e, path); got != want {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
		})
	}
}

// TestCodexPatterns: what a pattern denies there it denies here.
func TestCodexPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		denied  []string
		open    []string
	}{
		{"*/t/**/*.env", []string{"/t/.env", "/t/app/.env"}, []string{"/t/app/notes.txt"}},
		{"*/t/*/file[0-9]?.txt", []string{"/t/app/file42.txt"}, []string{"/t/app/nested/file42.txt", "/t/app/file4.txt", "/t/app/fileab.txt"}},
		{"*/t/private/secret?.txt", []string{"/t/private/secret1.txt", "/t/private/secret\xff.txt"}, []string{"/t/private/secret.txt"}},
		{"*/t/[", []string{"/t/["}, []string{"/t/x"}},
		{"*/t/{a,b}", []string{"/t/{a,b}", "/t/a"}, []string{"/t/c"}},
		{"*~/private/*.env", []string{"/home/u/private/secret.env"}, []string{"/home/u/private/x/secret.env"}},
		{"*~//private/*.env", []string{"/home/u/private/secret.env"}, nil},
		{"***/*.env", []string{"/w/a/b.env", "/w/.env"}, []string{"/v/.env"}},
	} {
		e := decided(t, imported(t, Codex, options, split(":root=read", c.pattern+"=deny")).Policy)
		for _, p := range c.denied {
			if got := resolved(e, p); got != "deny" {
				t.Errorf("%s: %q may be %s", c.pattern, p, got)
			}
		}
		for _, p := range c.open {
			if got := resolved(e, p); got != "read" {
				t.Errorf("%s: %q is %s", c.pattern, p, got)
			}
		}
	}
}

// TestCodexRepositories: a .git that is a file is kept with what it names, and
// that is shown nowhere where it was not.
func TestCodexRepositories(t *testing.T) {
	for text, want := range map[string]string{
		"gitdir: .real\n": "read", "gitdir: /w/.real": "read", "gitdir: ../w/.real\n": "read", "gitdir:": "write", ".real": "write", "gitdir: a\x00b": "write", "": "write",
	} {
		o := options
		o.GitFile = func(place string) string {
			if place == "/w/.git" {
				return text
			}
			return ""
		}
		e := decided(t, imported(t, Codex, o, split("/w=write", "/w/denied=deny")).Policy)
		if got := resolved(e, "/w/.real/config"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if got := resolved(e, "/w/denied/a"); got != "deny" {
			t.Errorf("%q: denied is %s", text, got)
		}
	}
}
