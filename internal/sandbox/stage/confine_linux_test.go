package stage

import (
	"os"
	"testing"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// TestRulesHoldForWhatWasFound: each path is resolved once, so that a rule is for what was
// there when its presence was found out, also where something else has the name by then.
func TestRulesHoldForWhatWasFound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"root", "written"} {
		if err := os.Mkdir(dir+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/program", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("program", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	l := sandbox.Landlock{Files: true, Limited: true, Write: []string{dir + "/written", dir + "/missing"}, Execute: []string{dir + "/program", dir + "/none"}}
	rules, err := fileRules(l, []string{dir + "/root"})
	defer closeRules(rules)
	if err != nil || len(rules) != 4 || rules[0].Path != "/" {
		t.Fatalf("%+v, %v, want the root and three that are there", rules, err)
	}
	for i, name := range []string{"root", "written", "program"} {
		if err := os.Rename(dir+"/"+name, dir+"/"+name+".found"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		var found, held unix.Stat_t
		if err := unix.Stat(dir+"/"+name+".found", &found); err != nil {
			t.Fatal(err)
		}
		r := rules[i+1]
		if err := unix.Fstat(r.FD, &held); err != nil || r.Path != "" || held.Ino != found.Ino || held.Dev != found.Dev {
			t.Errorf("%s: the rule %+v is for %d, %v, want %d", name, r, held.Ino, err, found.Ino)
		}
	}
	if more, err := fileRules(sandbox.Landlock{Execute: []string{dir + "/link"}}, nil); err == nil {
		t.Error("a link stands for a program that may be started")
	} else {
		closeRules(more)
	}
}
