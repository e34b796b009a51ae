package agentcmd

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
)

// TestMCPFlags: what cannot be served is refused before anything is opened.
func TestMCPFlags(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Refusals(map[string]string{
		"mcp --display wide":                   `--display "wide": virtual or none`,
		"mcp --token-file t":                   "--token-file is for --listen",
		"mcp --listen 127.0.0.1:0":             "needs --token-file FILE",
		"mcp --listen unix:/a --client claude": "with --listen there may be many",
		"mcp --permissions absent":             "there is no ceiling file",
		"mcp --client nobody":                  "nobody",
		"mcp extra":                            "extra",
		"mcp --workspace ''":                   "--workspace",
		"mcp --workspace A/b":                  "A/b",
		"mcp --toolsets odd":                   "odd",
		"stdio extra":                          "extra",
		"stdio --backend ''":                   "--backend",
		"stdio --permissions absent":           "there is no ceiling file",
		"stdio --working-dir " + p.Home + " --undo-dir ../project": "lies in the working directory",
	})
	p.Run("stdio --schema").OK(`"$schema"`, "session.start")
}

// TestListenMCP: a port of loopback or a socket of the user's alone, and nothing else.
func TestListenMCP(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o770); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{
		"0.0.0.0:0": "an address of loopback", "192.0.2.1:80": "an address of loopback", "localhost:0": "an address of loopback",
		":0":        "an address of loopback",
		"127.0.0.1": "an address of loopback", "": "an address of loopback", "unix:a": "it has to be an absolute path",
		"unix:" + open + "/s": "others can write its directory (mode 770)", "unix:" + file: "in use", "unix:" + dir + "/no/s": "no such file",
	} {
		l, err := listenMCP(where)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", where, err, want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("a file is now %q, %v", text, err)
	}
	for _, where := range []string{"127.0.0.1:0", "[::1]:0"} {
		if l, err := listenMCP(where); err == nil {
			if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
				t.Errorf("%s listens at %s", where, l.Addr())
			}
			l.Close()
		} else if !strings.Contains(where, "::") { // without IPv6
			t.Error(err)
		}
	}
}

// TestListenPath: a socket without a listener is replaced, another is not.
func TestListenPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := listenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if _, err := listenPath(path); err == nil || !strings.Contains(err.Error(), "another program listens there already") {
		t.Errorf("twice: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	again, err := listenPath(path)
	if err != nil {
		t.Fatalf("where nobody listens any more: %v", err)
	}
	again.Close()
}

// TestTokenFrom: a token is made at random for its owner alone; one that others can read, or
// that can be guessed, is not taken.
func TestTokenFrom(t *testing.T) {
	dir := t.TempDir()
	a, err := tokenFrom(dir + "/a")
	if err != nil || len(a) != 64 {
		t.Fatalf("%q, %v", a, err)
	}
	if st, err := os.Stat(dir + "/a"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if again, err := tokenFrom(dir + "/a"); err != nil || again != a {
		t.Errorf("read again it is %q, %v", again, err)
	}
	if b, err := tokenFrom(dir + "/b"); err != nil || b == a {
		t.Errorf("another one is %q, %v", b, err)
	}
	for i, c := range []struct {
		text  string
		mode  os.FileMode
		fails string
	}{
		{strings.Repeat("x", 16) + "\n", 0o600, ""}, {strings.Repeat("x", 256), 0o400, ""},
		{strings.Repeat("x", 15) + "\n", 0o600, "a token has 16 to 256 characters"}, {strings.Repeat("x", 257), 0o600,
			"a token has 16 to 256 characters"},
		{"", 0o600, "a token has"}, {strings.Repeat("x", 32), 0o640, "others can read it (mode 640)"}, {strings.Repeat("x", 32),
			0o604, "others can read it"},
	} {
		file := filepath.Join(dir, "t"+string(rune('0'+i)))
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		token, err := tokenFrom(file)
		if c.fails == "" && (err != nil || token != strings.TrimSpace(c.text)) || c.fails != "" && (err == nil ||
			!strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%d bytes of mode %o: %q, %v", len(c.text), c.mode, token, err)
		}
	}
	if _, err := tokenFrom(dir); err == nil {
		t.Error("a directory is a token")
	}
}

// TestFrozenCeiling: what a server is held to is told with its hash and the dimensions that are
// limited, and without a ceiling there is no hash.
func TestFrozenCeiling(t *testing.T) {
	p := clitest.New(t, Commands())
	env := &cmdenv.Env{Environ: p.Environ}
	if c, err := frozenCeiling(env, ""); err != nil || c.Hash != "" || c.Shown.Restricted {
		t.Errorf("%+v, %v", c, err)
	}
	file := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	c, err := frozenCeiling(&cmdenv.Env{Environ: p.Environ}, file)
	if err != nil || c.Hash == "" || c.Hash != c.Shown.Hash || !c.Shown.Restricted {
		t.Fatalf("%+v, %v", c, err)
	}
	var names []string
	for _, d := range c.Shown.Dimensions {
		names = append(names, d.Name)
	}
	if !slices.Contains(names, "network") || slices.Contains(names, "display") {
		t.Errorf("limited are %v", names)
	}
}

// TestUndoDir: the history of a client is a directory of its own, and not one that commands
// reach.
func TestUndoDir(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "working")
	for _, named := range []string{work, work + "/a", work + "/a/b"} {
		if got, err := undoDir(named, []string{"/other", work}); err == nil || !strings.Contains(err.Error(), "lies in the working directory") {
			t.Errorf("%s: %s, %v", named, got, err)
		}
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"history": work, "project": work} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for named, at := range map[string]string{"/history/x": work, "/working/x": dir + "/project", "/history": work} {
		if got, err := undoDir(dir+named, []string{at}); err == nil || !strings.Contains(err.Error(), "lies in the working directory") {
			t.Errorf("%s by a link in %s: %s, %v", named, at, got, err)
		}
	}
	for range 2 {
		got, err := undoDir(work+"2/x", []string{work})
		if err != nil || filepath.Base(got) != "carrel" {
			t.Fatalf("%s, %v", got, err)
		}
		if st, err := os.Stat(got); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", st, err)
		}
	}
}
