package container

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const idA = "416ac04222bc32e3920ca7d480db21d64d9da406433f788e7813e89afc5997e3"

func TestParseImages(t *testing.T) {
	image := func(id, tags, labels string) string {
		return `[{"Id": "` + id + `", "RepoTags": ` + tags + `, "Created": "2026-11-29T12:33:34.04Z", "Size": 7, "Architecture": "arm64",
			"Config": {"Labels": ` + labels + `, "User": "node", "Env": ["A=1"]}, "Digest": "x"}]`
	}
	const ours = `{"dev.carrel.owner": "carrel", "dev.carrel.name": "localhost/a:1", "dev.carrel.agent": "claude"}`
	for _, c := range []struct {
		name, text string
		ours       bool
	}{
		{"podman's", image(idA, `["localhost/a:1"]`, ours), true},
		{"docker's", image("sha256:"+idA, `["localhost/b:1", "localhost/a:1"]`, ours), true},
		{"an older build", image(idA, `[]`, ours), true},
		{"no names at all", image(idA, `null`, ours), true},
		{"the user's, built from ours", image(idA, `["localhost/mine:1"]`, ours), false},
		{"without labels", image(idA, `["localhost/a:1"]`, `null`), false},
		{"another owner's", image(idA, `["localhost/a:1"]`, `{"dev.carrel.owner": "x", "dev.carrel.name": "localhost/a:1"}`), false},
	} {
		list, err := parseImages([]byte(c.text))
		if err != nil || len(list) != 1 || list[0].ID != idA || list[0].Ours() != c.ours || list[0].Arch != "arm64" || list[0].Created.IsZero() {
			t.Errorf("%s: %+v, %v", c.name, list, err)
		}
	}
	for _, id := range []string{"", "--all", "sha256:12", strings.ToUpper(idA), idA + "0"} {
		if _, err := parseImages([]byte(image(id, "null", "null"))); err == nil {
			t.Errorf("%q is an id", id)
		}
	}
}

func TestIDs(t *testing.T) {
	if ids, err := idsOf([]byte("sha256:" + idA + "\n" + idA + "\n")); err != nil || !slices.Equal(ids, []string{idA}) {
		t.Errorf("%q, %v", ids, err)
	}
	if ids, err := idsOf(nil); err != nil || len(ids) != 0 {
		t.Errorf("none: %q, %v", ids, err)
	}
	if _, err := idsOf([]byte(idA + "\n--force\n")); err == nil {
		t.Error("an option is an id")
	}
}

func TestBuildArguments(t *testing.T) {
	b := Build{File: "/w/base", Context: "/w/context", Name: "localhost/x:1", Agent: "claude", Args: []string{"BASE=b"}, NoCache: true,
		Offline: true}
	want := "build --file /w/base --tag localhost/x:1 --label dev.carrel.owner=carrel --label dev.carrel.name=localhost/x:1 " +
		"--label dev.carrel.agent=claude --build-arg BASE=b --no-cache --network none -- /w/context"
	if got := strings.Join(b.arguments(), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestBuiltin: an agent's image is built in two steps, from a context with nothing in it.
func TestBuiltin(t *testing.T) {
	if !slices.Contains(Agents(), "claude") || slices.Contains(Agents(), "base") {
		t.Errorf("agents %q", Agents())
	}
	for _, agent := range append(Agents(), "") {
		w, err := NewWorkplace(filepath.Join(t.TempDir(), "images"))
		if err != nil {
			t.Fatal(err)
		}
		builds, err := w.Builtin(agent, Build{Offline: true})
		if err != nil || len(builds) == 0 || builds[len(builds)-1].Name != ImageOf(agent) || builds[len(builds)-1].Agent != agent {
			t.Fatalf("%q: %+v, %v", agent, builds, err)
		}
		for i, b := range builds {
			text, err := os.ReadFile(b.File)
			if err != nil || !b.Offline || b.Context != w.Context || i == 1 && !strings.HasPrefix(string(text), "ARG BASE\nFROM ${BASE}\n") {
				t.Errorf("%q: %+v, %q, %v", agent, b, text, err)
			}
		}
		if left, err := os.ReadDir(w.Context); err != nil || len(left) > 0 {
			t.Errorf("%q: in the context: %v, %v", agent, left, err)
		}
		whole, err := Dockerfile(agent)
		if err != nil || strings.Count(whole, "FROM ") != 1 || strings.Contains(whole, "ARG BASE") || agent != "" && strings.Count(whole,
			"RUN ") != 2 {
			t.Errorf("%q: %v\n%s", agent, err, whole)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(w.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", w.Dir)
		}
	}
	for _, agent := range []string{"base", "nonesuch", "../x"} {
		if _, err := Dockerfile(agent); err == nil || !strings.Contains(err.Error(), "there are claude, codex") {
			t.Errorf("%q: %v", agent, err)
		}
	}
}

func TestProbeIsNotBelieved(t *testing.T) {
	said := "git=/usr/bin/git\nclaude=relative\nevil=/bin/evil\nnode\n=\ngh=/usr/bin/gh=x\n"
	found := parseProbe([]byte(said), []string{"git", "claude", "node", "gh"})
	if len(found) != 2 || found["git"] != "/usr/bin/git" || found["gh"] != "/usr/bin/gh=x" {
		t.Errorf("%q", found)
	}
}

// TestArchive: what is in a directory comes with its mode, as root's; nothing outside is read.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "bin"), 0o755),
		os.WriteFile(filepath.Join(dir, "bin", "x"), []byte("program"), 0o755),
		os.Chmod(filepath.Join(dir, "bin", "x"), 0o755|os.ModeSetuid),
		os.Symlink("/etc/shadow", filepath.Join(dir, "link")),
		os.Symlink("/etc", filepath.Join(dir, "etc")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	fifo(t, filepath.Join(dir, "fifo"))
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var out bytes.Buffer
	skipped, err := Archive(root, &out)
	if err != nil || skipped != 1 {
		t.Fatalf("%d, %v", skipped, err)
	}
	var got []string
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s belongs to %d:%d %s", h.Name, h.Uid, h.Gid, h.Uname)
		}
		got = append(got, h.Name+" "+h.FileInfo().Mode().String()+" "+h.Linkname+string(text))
	}
	want := []string{"bin/ drwxr-xr-x ", "bin/x urwxr-xr-x program", "etc Lrwxrwxrwx /etc", "link Lrwxrwxrwx /etc/shadow"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
