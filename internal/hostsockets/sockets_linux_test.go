package hostsockets

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
)

// shortDir makes a directory with a short name, as sockets need.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, at string) {
	t.Helper()
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

// TestHostSocketsThatWereRenamed: the kernel goes on telling the name that a
// socket was bound with, and a connection to the new one reaches it.
func TestHostSocketsThatWereRenamed(t *testing.T) {
	dir := shortDir(t)
	listen(t, filepath.Join(dir, "stays"))
	listen(t, filepath.Join(dir, "new"))
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(filepath.Join(dir, "new"), moved); err != nil {
		t.Fatal(err)
	}
	shown := policy.Rule{Path: dir, Access: policy.Write, Source: policy.Source{Layer: policy.LayerCommandLine}}
	found := (&Search{Policy: &policy.Effective{Rules: []policy.Rule{shown}}}).All()
	for _, want := range []string{filepath.Join(dir, "stays"), moved} {
		if !slices.Contains(found, want) {
			t.Errorf("%s is not among %q", want, found)
		}
	}
	if found := (&Search{Policy: &policy.Effective{}}).All(); len(found) > 0 {
		t.Errorf("nothing is shown, and %q are found", found)
	}
}

// TestSocketsWithRelativeNames: what was bound by a relative name is found below the roots that
// are shown, and nothing else of that name.
func TestSocketsWithRelativeNames(t *testing.T) {
	dir, elsewhere := shortDir(t), shortDir(t)
	t.Chdir(dir)
	listen(t, "a socket")
	if err := os.WriteFile(filepath.Join(elsewhere, "a socket"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Search{Policy: &policy.Effective{}, Roots: []string{elsewhere}}
	if found := s.All(); len(found) > 0 {
		t.Errorf("found where nothing is: %q", found)
	}
	s.Roots = append(s.Roots, filepath.Dir(dir)+"/none", dir)
	if found := s.All(); !slices.Equal(found, []string{dir + "/a socket"}) {
		t.Errorf("found %q, want the one in %s", found, dir)
	}
}

// TestSocketName: lines of proc_net(5), of which the last field may have blanks, or be none.
func TestSocketName(t *testing.T) {
	for line, want := range map[string]string{
		"ffff8880: 00000002 00000000 00010000 0001 01 12345 /run/a b  c": "/run/a b  c",
		"ffff8880: 00000002 00000000 00010000 0001 01   123 @abstract":   "@abstract",
		"ffff8880: 00000003 00000000 00000000 0001 03   123":             "",
		"the rest of a name": "", "": "",
	} {
		if got := socketName(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestReaches: a command of root's, which is without privilege, does not get to what another
// user has closed; one of a user's is held by the kernel.
func TestReaches(t *testing.T) {
	dir := shortDir(t)
	const other, group = 4242, 4343
	for _, c := range []struct {
		mode     os.FileMode
		uid, gid int
		want     bool
	}{
		{0o700, 0, 0, true}, {0o700, other, 0, false}, {0o711, other, group, true}, {0o710, other, group, true}, {0o710, other, other, false},
		{0o740, other, group, false},
	} {
		at := filepath.Join(dir, "d")
		if err := errors.Join(os.Mkdir(at, 0o700), os.Chmod(dir, 0o755), os.Chmod(at, c.mode), os.Chown(at, c.uid, c.gid)); err != nil {
			t.Fatal(err)
		}
		if got := (&Search{UID: 0, GID: group}).reaches(at + "/s"); got != c.want {
			t.Errorf("a directory %o of %d and group %d: %v", c.mode, c.uid, c.gid, got)
		}
		if !(&Search{UID: other}).reaches(at + "/s") {
			t.Error("another user is not asked of the kernel")
		}
		os.Remove(at)
	}
	if (&Search{}).reaches(dir + "/gone/s") {
		t.Error("what is gone is reached")
	}
}

// TestBinds: a socket of one's own or root's is granted once, at its own path, with a link for
// each other name; all else is refused, with what was named, by which source, and why.
func TestBinds(t *testing.T) {
	dir := shortDir(t)
	at, link, foreign := dir+"/s", dir+"/link", dir+"/foreign"
	listen(t, at)
	listen(t, foreign)
	if err := errors.Join(os.Symlink("s", link), os.Chown(foreign, 4242, 4242), os.WriteFile(dir+"/file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	by := policy.Source{Layer: policy.LayerCommandLine, Text: "--unix-socket"}
	search := func(names ...string) *Search {
		s := &Search{Policy: &policy.Effective{}, Facts: hostfacts.New(), Names: names, UID: 4141}
		for _, n := range names {
			s.Policy.UnixSockets = append(s.Policy.UnixSockets, policy.Value[string]{V: n, Source: by})
		}
		return s
	}
	s := search(link, at)
	binds, links, err := s.Binds()
	if err != nil || len(binds) != 1 || binds[0].Source != at || binds[0].Target != at || !binds[0].ReadOnly {
		t.Errorf("%+v, %v, want %s once", binds, err, at)
	}
	if len(links) != 1 || links[0].Target != link || links[0].Source != at {
		t.Errorf("links: %+v, want %s to %s", links, link, at)
	}
	if !s.Granted(at) || s.Granted(foreign) {
		t.Error("the granted socket is masked, or another one is not")
	}
	for name, why := range map[string]string{dir + "/none": "does not exist", dir + "/file": "is no socket", dir: "is no socket",
		foreign: "is another user's"} {
		_, _, err := search(name).Binds()
		var d *api.Denial
		if !errors.As(err, &d) || d.Subject != name || !strings.Contains(d.Message, by.Text) || !strings.Contains(d.Message, why) ||
			d.Hint == "" {
			t.Errorf("%s: %v, want that it %s", name, err, why)
		}
	}
}
