package guard

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"carrel/internal/broker"
)

// tree writes files below a directory: a name that ends in "/" is a directory, and a text
// that begins with "-> " makes a link.
func tree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := dir + "/" + name
		if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(to, at)
		} else if !strings.HasSuffix(name, "/") {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// change is one of a path that is, or is about to be, of a kind.
func change(op, at string, kind broker.Kind) *broker.Change {
	return &broker.Change{Op: op, Path: at, Kind: kind, Mode: 0o777, Dir: -1, ToDir: -1}
}

// moving is a change of two paths; over is what is at the second.
func moving(op, from, to string, kind, over broker.Kind) *broker.Change {
	return &broker.Change{Op: op, Path: from, To: to, Kind: kind, Over: over, Dir: -1, ToDir: -1}
}

// asks says whether a guard lets a change pass, by what the file would hold too where the
// content decides, and what it said.
func asks(d *Guard, ch *broker.Change, before, after string) (bool, string) {
	v := d.Decide(ch)
	if !v.Allowed || v.Vet == nil {
		return v.Allowed, v.Rule
	}
	if err := v.Vet([]byte(before), []byte(after)); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// gitOutput runs git in a directory without anybody's configuration. What git says on both
// outputs is given back, and whether it was content.
func gitOutput(t testing.TB, dir, input string, args ...string) (out, errs string, ok bool) {
	t.Helper()
	at, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here")
	}
	c := exec.Command(at, args...)
	c.Dir, c.Stdin = dir, strings.NewReader(input)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nohome", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_CEILING_DIRECTORIES=" + path.Dir(dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err == nil
}

// gitMust gives what git says where it has to be content.
func gitMust(t testing.TB, dir, input string, args ...string) string {
	t.Helper()
	out, errs, ok := gitOutput(t, dir, input, args...)
	if !ok {
		t.Fatalf("git %q: %.500s%.500s", args, out, errs)
	}
	return strings.TrimSuffix(out, "\n")
}
