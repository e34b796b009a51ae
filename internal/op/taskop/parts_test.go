package taskop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// gitAt runs git in a directory, as a person does.
func gitAt(t interface {
	Fatalf(string, ...any)
	Helper()
}, dir, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=U", "-c", "user.email=u@example.org", "-c",
		"core.autocrlf=false"}, args...)...)
	cmd.Env = []string{"HOME=/nonexistent", "PATH=/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if e, ok := err.(*exec.ExitError); ok {
			said = string(e.Stderr)
		}
		t.Fatalf("git %q: %v\n%s", args, err, said)
	}
	return string(out)
}

// diffWords are those by which a review asks git for a diff.
var diffWords = []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--patch", "--binary", "--full-index",
	"--no-renames", "--src-prefix=a/", "--dst-prefix=b/"}

// TestPartsAreTheDiff: the pieces of any diff together are the diff, each belongs to a file that has
// changed, and git takes any choice of them.
func TestPartsAreTheDiff(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatalf("%v", err)
		}
		gitAt(t, dir, "", "init", "-q")
		names := []string{"a", "b c", "ü", "d\"q", "@@ e", "diff --git x"}
		lines := rapid.SampledFrom([]string{"same", "@@ -1 +1 @@", "diff --git a/a b/a", "--- a/a", "+++ b/a", "-", "+", "",
			"\\ No newline at end of file", "deleted file mode 100644"})
		content := func(label string) string {
			text := strings.Join(rapid.SliceOfN(lines, 0, 30).Draw(t, label), "\n")
			if rapid.Bool().Draw(t, label+" ends") {
				text += "\n"
			}
			if rapid.IntRange(0, 9).Draw(t, label+" binary") == 0 {
				text += "\x00\x01"
			}
			return text
		}
		write := func(round string) {
			for _, name := range names {
				switch rapid.IntRange(0, 3).Draw(t, round+name) {
				case 0:
					_ = os.Remove(filepath.Join(dir, name))
				case 1, 2:
					if err := os.WriteFile(filepath.Join(dir, name), []byte(content(round+name)), 0o600); err != nil {
						t.Fatalf("%v", err)
					}
				}
			}
			gitAt(t, dir, "", "add", "-A")
			gitAt(t, dir, "", "commit", "-q", "--allow-empty", "-m", round)
		}
		write("before")
		write("after")
		diff := gitAt(t, dir, "", append(slices.Clone(diffWords), "HEAD~1", "HEAD", "--")...)
		all := parts(diff)
		if got := patchOf(all); got != diff {
			t.Fatalf("together:\n%q\nwant\n%q", got, diff)
		}
		changed := strings.Count("\x00"+gitAt(t, dir, "", "diff", "--no-renames", "--name-only", "-z", "HEAD~1", "HEAD"), "\x00") - 1
		files := make(map[string]bool)
		for _, p := range all {
			files[p.File] = true
		}
		if len(files) != changed {
			t.Fatalf("%d files in pieces, %d have changed", len(files), changed)
		}
		var chosen []Part
		for i, p := range all {
			if rapid.Bool().Draw(t, fmt.Sprint("take ", i)) {
				chosen = append(chosen, p)
			}
		}
		if len(chosen) == 0 {
			return
		}
		gitAt(t, dir, "", "checkout", "-q", "-f", "HEAD~1")
		gitAt(t, dir, patchOf(chosen), "apply", "--index", "--whitespace=nowarn", "--unidiff-zero", "-")
		if len(chosen) == len(all) {
			if left := gitAt(t, dir, "", "diff", "--cached", "--name-only", gitHead(t, dir)); left != "" {
				t.Fatalf("all pieces leave a difference: %s", left)
			}
		}
	})
}

func gitHead(t *rapid.T, dir string) string {
	return strings.TrimSpace(gitAt(t, dir, "", "rev-parse", "@{-1}"))
}

// TestPartsOfNothing: what is no diff has no pieces.
func TestPartsOfNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "no diff", "@@ -1 +1 @@\n"} {
		if got := parts(text); len(got) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
