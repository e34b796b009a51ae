package inside

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestHostOfGH(t *testing.T) {
	for _, row := range []struct {
		args, env []string // env: GH_HOST, GH_REPO
		want      string
	}{
		{[]string{"pr", "list"}, []string{"", ""}, ""},
		{[]string{"pr", "list"}, []string{"a.example", ""}, "a.example"},
		{[]string{"api", "--hostname", "b.example", "x"}, []string{"a.example", "c.example/o/r"}, "b.example"},
		{[]string{"api", "--hostname=b.example"}, []string{"", ""}, "b.example"},
		{[]string{"api", "--hostname"}, []string{"a.example", ""}, ""},
		{[]string{"pr", "-R", "b.example/o/r"}, []string{"a.example", "c.example/o/r"}, "b.example"},
		{[]string{"pr", "--repo=o/r"}, []string{"a.example", "c.example/o/r"}, "a.example"},
		{[]string{"pr"}, []string{"a.example", "c.example/o/r"}, "c.example"},
		{[]string{"pr", "-R", "https://b.example/o/r"}, []string{"", ""}, "b.example"},
		{[]string{"pr", "-R", "git@b.example:o/r"}, []string{"", ""}, "b.example"},
		{[]string{"pr", "-Rb.example/o/r"}, []string{"a.example", ""}, "b.example"},
		{[]string{"pr", "view", "https://b.example/o/r/pull/1"}, []string{"a.example", ""}, "a.example"},
		{[]string{"pr", "comment", "--body", "https://b.example/x"}, []string{"", ""}, ""},
		{[]string{"api", "https://api.b.example/x"}, []string{"", ""}, ""},
		{[]string{"pr"}, []string{"", "https://c.example/o/r"}, "c.example"},
		{[]string{"pr", "view", "https://b.example/o/r/pull/1", "-R", "c.example/o/r"}, []string{"a.example", ""}, "c.example"},
		{[]string{"alias", "--", "--hostname", "b.example"}, []string{"a.example", ""}, "a.example"},
	} {
		env := map[string]string{"GH_HOST": row.env[0], "GH_REPO": row.env[1]}
		if got := hostOf(row.args, func(name string) string { return env[name] }); got != row.want {
			t.Errorf("%q %q: %q", row.args, row.env, got)
		}
	}
}

// TestHints: a URL among the arguments comes before the remotes, and takes none away.
func TestHints(t *testing.T) {
	remotes := []string{"a.example", "b.example"}
	for _, row := range []struct {
		args []string
		want []string
	}{
		{nil, remotes},
		{[]string{"pr", "list"}, remotes},
		{[]string{"pr", "view", "https://c.example/o/r/pull/1"}, []string{"c.example", "a.example", "b.example"}},
		{[]string{"pr", "view", "https://b.example/o/r/pull/1"}, []string{"b.example", "a.example"}},
		{[]string{"pr", "comment", "--body=https://c.example/x"}, []string{"c.example", "a.example", "b.example"}},
		{[]string{"pr", "comment", "--body", "see https://c.example/x"}, remotes},
		{[]string{"api", "https://api.c.example/x"}, []string{"c.example", "a.example", "b.example"}},
		{[]string{"repo", "clone", "https://www.c.example/o/r"}, []string{"c.example", "a.example", "b.example"}},
		{[]string{"pr", "https:///x", "https://c.example/x"}, []string{"c.example", "a.example", "b.example"}},
		{[]string{"pr", "https://" + strings.Repeat("x", 300)}, remotes},
	} {
		if got := hints(row.args, remotes); !slices.Equal(got, row.want) {
			t.Errorf("%q: %q", row.args, got)
		}
	}
	if !slices.Equal(remotes, []string{"a.example", "b.example"}) {
		t.Errorf("the remotes are %q now", remotes)
	}
}

func TestHostsOf(t *testing.T) {
	config := "[remote \"long\"]\n\turl = https://" + strings.Repeat("x", 300) + "/o/r\n[core]\n\turl = https://core.example/\n[remote \"a\"]\n\tfetch = x\n\turl = https://a.example/o/r\n[remote \"origin\"]\n\turl=git@origin.example:o/r.git\n\tpushurl = git@push.example:o/r\n" +
		"[remote \"here\"]\n\turl = /srv/git/x:y\n[remote \"there\"]\n\turl = ../x\n[branch \"main\"]\n\turl = https://branch.example/\nbroken\n[remote \"upstream\"]\n\tURL = \"ssh://git@up.example:2222/o/r\"\n[remote \"bad\"]\n\turl = https://%zz/\n"
	if got := hostsOf(config); !slices.Equal(got, []string{"up.example", "origin.example", "a.example"}) {
		t.Errorf("%q", got)
	}
	if got := hostsOf(""); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestTokenEnv(t *testing.T) {
	old := []string{"X=1", "GH_HOST=old", "GH_TOKEN=old"}
	for _, row := range []struct {
		host  string
		named bool
		want  []string
	}{
		{"github.com", false, []string{"X=1", "GH_TOKEN=t"}},
		{"github.com", true, []string{"X=1", "GH_TOKEN=t", "GH_HOST=github.com"}},
		{"x.ghe.com", false, []string{"X=1", "GH_TOKEN=t", "GH_HOST=x.ghe.com"}},
		{"a.example", false, []string{"X=1", "GH_TOKEN=old", "GH_ENTERPRISE_TOKEN=t", "GH_HOST=a.example"}},
	} {
		if got := tokenEnv(old, row.host, "t", row.named); !slices.Equal(got, row.want) {
			t.Errorf("%+v: %q", row, got)
		}
	}
}

// TestRemoteHosts: from below a repository, and from a working tree beside it.
func TestRemoteHosts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"repo/.git/config": "[remote \"origin\"]\n\turl = https://a.example/o/r\n", "repo/sub/deep/f": "",
		"tree/.git": "gitdir: ../repo/.git/worktrees/tree\n", "repo/.git/worktrees/tree/commondir": "../..\n", "none/f": "", "broken/.git": "x",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]string{"repo": {"a.example"}, "repo/sub/deep": {"a.example"}, "tree": {"a.example"}, "none": nil, "broken": nil} {
		t.Chdir(filepath.Join(dir, name))
		if got := remoteHosts(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	pipe := filepath.Join(dir, "none/.git/config")
	if err := os.MkdirAll(filepath.Dir(pipe), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	t.Chdir(filepath.Join(dir, "none"))
	if got := remoteHosts(); got != nil {
		t.Errorf("by a pipe: %q", got)
	}
}
