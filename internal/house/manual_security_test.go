package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	cveName  = regexp.MustCompile(`CVE-[^\s,;|)]*`)
	goodCVE  = regexp.MustCompile(`^CVE-(199|20[0-2])\d-\d{4,5}$`)
)

// TestSecurityManual holds docs/security.md to the tests: each that it names is
// there, and each escape that is tried stands in it.
func TestSecurityManual(t *testing.T) {
	tr := load(t)
	text, err := os.ReadFile(filepath.Join(tr.root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(tr)
	named := make(map[string]bool)
	for _, m := range testName.FindAllSubmatch(text, -1) {
		named[string(m[1])] = true
		if tests[string(m[1])] == "" {
			t.Errorf("docs/security.md names %s, which is no test", m[1])
		}
	}
	for name, path := range tests {
		if strings.HasPrefix(path, "test/escape_") && !named[name] {
			t.Errorf("%s: docs/security.md does not say what %s shows", path, name)
		}
	}
	if len(named) < 50 {
		t.Errorf("docs/security.md names only %d tests", len(named))
	}
	for _, cve := range cveName.FindAllString(string(text), -1) {
		if !goodCVE.MatchString(cve) {
			t.Errorf("docs/security.md: %q is no number of a published hole", cve)
		}
	}
	for _, run := range regexp.MustCompile(`-run '?([A-Za-z|]+)'?`).FindAllSubmatch(text, -1) {
		for part := range strings.SplitSeq(string(run[1]), "|") {
			if !begins(tests, part) {
				t.Errorf("docs/security.md runs %s, which is no test", part)
			}
		}
	}
}

func begins(tests map[string]string, part string) bool {
	for name := range tests {
		if strings.HasPrefix(name, part) {
			return true
		}
	}
	return false
}

// testsOf gives the file of each test.
func testsOf(tr *tree) map[string]string {
	tests := make(map[string]string)
	for _, s := range tr.files {
		for _, m := range regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(t \*testing\.T\)`).FindAllSubmatch(s.text, -1) {
			tests[string(m[1])] = s.path
		}
	}
	return tests
}

// wrappedLine is where a sentence goes on in the next line.
var wrappedLine = regexp.MustCompile(`\n *([^\s|#-])`)

// TestProgramsStartedOutside: the two places that say which programs are started outside
// name the same.
func TestProgramsStartedOutside(t *testing.T) {
	for path, begin := range map[string]string{"../../docs/internals.md": "the only other programs that we start outside", "../../docs/security.md": "It starts no program but"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, said, _ := strings.Cut(wrappedLine.ReplaceAllString(string(text), " $1"), begin)
		said, _, _ = strings.Cut(said, "\n")
		for _, name := range []string{"`/usr/bin/xdg-open`", "`/usr/bin/bwrap`", "player of sounds", "`git`", "`gh`", "`gpg`", "system's directories", "`podman`", "`docker`", "`limactl`"} {
			if !strings.Contains(said, name) {
				t.Errorf("%s: what is started outside does not name %s", path, name)
			}
		}
	}
}
