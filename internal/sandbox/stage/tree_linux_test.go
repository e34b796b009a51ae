package stage

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"

	"golang.org/x/sys/unix"
)

// treeOf is a new root at a directory, whose file system is one of ours or the host's.
func treeOf(t *testing.T, dir string, ours bool) *rootTree {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	tree := &rootTree{root: fd, memory: make(map[uint64]bool)}
	if ours {
		tree.remember(fd)
	}
	return tree
}

// TestNothingIsMadeOnTheHost: mount points and files are made in memory alone, and nowhere through a
// link, wherever that leads.
func TestNothingIsMadeOnTheHost(t *testing.T) {
	for _, ours := range []bool{true, false} {
		dir, outside := t.TempDir(), t.TempDir()
		if err := errors.Join(os.Mkdir(dir+"/d", 0o700), os.Symlink(outside, dir+"/out"), os.Symlink("d", dir+"/in"),
			os.WriteFile(dir+"/f", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		tree := treeOf(t, dir, ours)
		made := map[string]fs.FileMode{}
		for _, c := range []struct {
			at   string
			make func(at string) error
			mode fs.FileMode // of what is made; 0 where it never is
			err  error
		}{
			{"/d/e/point", func(at string) error { fd, err := tree.target(at, true); unix.Close(fd); return err }, fs.ModeDir | 0o755, nil},
			{"/point", func(at string) error { fd, err := tree.target(at, false); unix.Close(fd); return err }, 0o644, nil},
			{"/d/g/file", func(at string) error {
				return tree.make(&sandbox.Mount{Kind: sandbox.WriteFile, Target: at, Perm: 0o640, Data: []byte("x")})
			}, 0o640, nil},
			{"/d/dir", func(at string) error {
				return tree.make(&sandbox.Mount{Kind: sandbox.MakeDir, Target: at, Perm: 0o711})
			}, fs.ModeDir | 0o711, nil},
			{"/d/link", func(at string) error {
				return tree.make(&sandbox.Mount{Kind: sandbox.MakeSymlink, Target: at, Source: "x"})
			}, fs.ModeSymlink | 0o777, nil},
			{"/out/x", func(at string) error { _, err := tree.target(at, true); return err }, 0, unix.ELOOP},
			{"/in/x", func(at string) error {
				return tree.make(&sandbox.Mount{Kind: sandbox.MakeDir, Target: at, Perm: 0o700})
			}, 0, unix.ELOOP},
			{"/f/x", func(at string) error { _, err := tree.target(at, true); return err }, 0, unix.ENOTDIR},
		} {
			want := c.err
			if want == nil && !ours {
				want = unix.ENOENT
			}
			err := c.make(c.at)
			if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), `"/`) {
				t.Errorf("ours %v, %s: %v, want %v", ours, c.at, err, want)
			}
			if st, err := os.Lstat(dir + c.at); err == nil {
				if made[c.at] = st.Mode(); st.Mode() != c.mode || !ours {
					t.Errorf("ours %v, %s: made with %v", ours, c.at, st.Mode())
				}
			}
		}
		if want := map[bool]int{true: 5}[ours]; len(made) != want {
			t.Errorf("ours %v: made %v", ours, made)
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("made outside: %v, %v", left, err)
		}
	}
}

// TestLookUp: a program is found as execvp(3) does, but never by a directory that is relative: that
// would be one of the project.
func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := errors.Join(os.MkdirAll(dir+"/a/is-dir", 0o700), os.Mkdir(dir+"/b", 0o700), os.WriteFile(dir+"/a/plain", nil, 0o600),
		os.WriteFile(dir+"/b/plain", nil, 0o700), os.WriteFile(dir+"/a/only", nil, 0o600),
		os.WriteFile(dir+"/b/is-dir", nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	both := "PATH=b:" + dir + "/a::.:" + dir + "/none:" + dir + "/b"
	for _, c := range []struct {
		name, path, env string
		want            string
		err             error
	}{
		{"plain", "", both, dir + "/b/plain", nil}, {"is-dir", "", both, dir + "/b/is-dir", nil}, {"only", "", both, "", unix.EACCES},
		{"none", "", both, "", unix.ENOENT},
		{"plain", "", "PATH=b:.", "", unix.ENOENT}, {"plain", "", "XPATH=" + dir + "/b", "", unix.ENOENT}, {"", "", both, "", unix.ENOENT},
		{"plain", "/given", both, "/given", nil}, {"./x", "", both, "/w/x", nil}, {"../x", "", both, "/x", nil}, {"/x/y", "", both, "/x/y", nil},
	} {
		got, err := lookUp(&sandbox.Command{Argv: []string{c.name}, Path: c.path, Env: []string{c.env}, Dir: "/w"})
		if got != c.want || err != c.err {
			t.Errorf("%q by %s: %q, %v, want %q, %v", c.name, c.env, got, err, c.want, c.err)
		}
	}
}

// TestGranted: what is let be used is what was decided about, by no link; what may be missing is left
// out, and each kind of grant has its access.
func TestGranted(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/f", nil, 0o600), os.Symlink("f", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir+"/f", &st); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		grant sandbox.Grant
		want  int
		err   error
	}{
		"as it was":       {sandbox.Grant{Path: dir + "/f", Dev: st.Dev, Ino: st.Ino}, 1, nil},
		"replaced":        {sandbox.Grant{Path: dir + "/f", Dev: st.Dev, Ino: st.Ino + 1}, 0, errReplaced},
		"missing":         {sandbox.Grant{Path: dir + "/none"}, 0, unix.ENOENT},
		"perhaps missing": {sandbox.Grant{Path: dir + "/none", Optional: true}, 0, nil},
		"below a file":    {sandbox.Grant{Path: dir + "/f/x", Optional: true}, 0, nil},
		"a link":          {sandbox.Grant{Path: dir + "/link", Optional: true}, 0, unix.ELOOP},
	} {
		rules, err := granted([]sandbox.Grant{c.grant})
		if len(rules) != c.want || !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), c.grant.Path) {
			t.Errorf("%s: %v, %v", name, rules, err)
		}
		closeRules(rules)
	}
	for g, never := range map[sandbox.Grant]landlock.Access{
		{}: landlock.Write | landlock.Ioctl, {Write: true}: landlock.Ioctl, {Device: true}: landlock.Execute,
		{Data: true}:              landlock.Execute | landlock.Write | landlock.Ioctl,
		{Data: true, Write: true}: landlock.Write,
	} {
		if got := accessOf(g); got&never != 0 || got&landlock.Read == 0 {
			t.Errorf("%+v lets %b", g, got)
		}
	}
}

// TestBindText: a socket has exactly the name that was asked for, from the directory that was asked
// for, also where that looks like one without a file.
func TestBindText(t *testing.T) {
	mirror, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(mirror)
	b, err := startBinder(mirror)
	if err != nil {
		t.Fatal(err)
	}
	defer close(b.requests)
	dir := t.TempDir()
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	long := strings.Repeat("x", 108)
	for _, c := range []struct {
		text string
		want error
	}{
		{"s", nil}, {"s", unix.EADDRINUSE}, {"@s", nil}, {long, nil}, {long + "x", unix.EINVAL}, {"", unix.EINVAL}, {"none/s", unix.ENOENT},
		{"./t", nil},
	} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		b.requests <- bindRequest{fd, at, c.text, 0o27, done}
		if err := <-done; !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("%.20q: %v, want %v", c.text, err, c.want)
		}
		if own, err := unix.Getsockname(fd); c.want == nil && (err != nil || own.(*unix.SockaddrUnix).Name != c.text) {
			t.Errorf("%.20q is called %+v, %v", c.text, own, err)
		}
		unix.Close(fd)
		if st, err := os.Lstat(dir + "/" + c.text); c.want == nil && (err != nil || st.Mode() != fs.ModeSocket|0o750) {
			t.Errorf("%.20q: %v, %v", c.text, st, err)
		}
	}
	if b, err := startBinder(-1); err == nil || !strings.Contains(err.Error(), "entering the mirror") {
		t.Errorf("without a mirror: %v, %v", b, err)
	}
}

// TestContainerArgs: what a container's first process is started with is read strictly.
func TestContainerArgs(t *testing.T) {
	if uid, gid, net, err := containerArgs([]string{"1", "2", "1"}); uid != 1 || gid != 2 || !net || err != nil {
		t.Error(uid, gid, net, err)
	}
	for _, args := range [][]string{nil, {"1", "2"}, {"x", "2", "0"}, {"1", "", "0"}, {"1", "2", "0", "3"}} {
		if _, _, _, err := containerArgs(args); err == nil {
			t.Errorf("%q are taken", args)
		}
	}
}
