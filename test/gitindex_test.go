//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// craftIndex is a program that writes an index with an entry for a file by another path: of
// the same length, so that nothing else in it changes. Git does not ask for the checksum.
const craftIndex = `craft() { # REAL PATH, as long as $1
	mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\necho "$0" >> "$V"\n' > "$1"; chmod +x "$1"; git add "$1"
	python3 -c 'import sys; b = open(".git/index", "rb").read(); open("new", "wb").write(b.replace(sys.argv[1].encode(), sys.argv[2].encode()))' "$1" "$2"
	rm -rf XX
}
`

// crafted are indexes by which git outside writes a file that it then runs, or one that is
// in no working tree.
var crafted = []struct{ name, leave string }{
	{"a hook", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; mv new .git/index`},
	{"in capitals", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; mv new .git/index; mv .git/index x; mv x .git/index`},
	{"out of the tree", `craft XX/XX/../post-checkout ../../../post-checkout; craft XX/post-checkout ../post-checkout; mv new .git/index`},
	{"in place", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; cat new > .git/index`},
	{"by a descriptor", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; exec 3> x; rm .git/index; mv x .git/index; cat new >&3; exec 3>&-`},
	{"by a second name", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; ln .git/index x; cat new > x`},
	{"linked", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; rm .git/index; ln new .git/index`},
	{"exchanged", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; ` + python("L.renameat2(-100, b'new', -100, b'.git/index', 2)")},
	{"of version 4", `git update-index --index-version 4; : > .gi; git add .gi; craft .giX/hooks/post-checkout .git/hooks/post-checkout; python3 -c 'b = open(".git/index", "rb").read(); open("new", "wb").write(b.replace(b"X/hooks/post-checkout", b"t/hooks/post-checkout"))'; rm -rf .giX; mv new .git/index`},
	{"of a repository among logs", `craft XXXX/hooks/post-checkout .git/hooks/post-checkout; mkdir -p .git/logs/refs/D; cp -r .git/HEAD .git/refs .git/objects .git/logs/refs/D; cp new .git/logs/refs/D/index; echo "git --git-dir=.git/logs/refs/D --work-tree=. checkout -q ." > later`},
	{"split", `git update-index --split-index; f=$(ls .git/sharedindex.*); mkdir -p XXXX/hooks; printf '#!/bin/sh\necho "$0" >> "$V"\n' > XXXX/hooks/post-checkout; chmod +x XXXX/hooks/post-checkout; git update-index --no-split-index; git add XXXX; git update-index --split-index; f=$(ls -t .git/sharedindex.* | head -1); python3 -c 'import sys; b = open(sys.argv[1], "rb").read(); open("new", "wb").write(b.replace(b"XXXX", b".git"))' $f; rm -rf XXXX; chmod u+w $f; mv new $f`},
}

// TestCraftedIndexes: the git that a person uses outside writes no file by an index of a
// run's that is outside of the working tree, or in a git directory. Each is tried without
// walls first.
func TestCraftedIndexes(t *testing.T) {
	t.Parallel()
	for _, c := range crafted {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			written := func(dir string, inside bool) bool {
				w.outsideSh("mkdir -p " + dir + " && cd " + dir + " && git init -q -b main . && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -q -m one")
				script := "V=/dev/null\n" + craftIndex + c.leave + "\n"
				if inside {
					t.Log(w.run(append(historyOn, "--", "bash", "-c", script)...))
				} else {
					w.outsideSh("cd " + dir + "\n" + script + "\ntrue")
				}
				w.outsideSh("cd " + dir + "; export V=$PWD/ran; git status; git checkout -q .; git checkout -q -b x; test -e later && sh later; true")
				return exists(dir+"/.git/hooks/post-checkout") || exists(dir+"/../post-checkout") || exists(dir+"/ran")
			}
			if !written(w.outside+"/free/a", false) {
				t.Fatal("without walls git writes nothing: the index does no harm")
			}
			if written(w.project, true) {
				t.Error("git outside wrote a file by a path of the run's index")
			}
		})
	}
}

// TestIndexesBeforeDirectories: a directory becomes no git directory while an index has an
// entry for its configuration or a hook, which git outside would write there.
func TestIndexesBeforeDirectories(t *testing.T) {
	t.Parallel()
	head := "mkdir -p b/objects b/refs; echo 'ref: refs/heads/main' > b/HEAD"
	for _, c := range []struct{ name, first, next string }{
		{"a configuration", "add 100644 b/config", head},
		{"one that lay there", "mkdir b; cat evil > b/config; git add b; git commit -qm x; rm -r b", head},
		{"a hook", "add 100755 b/hooks/x", head},
		{"moved", "add 100644 d/b/config", "mkdir d; mkdir -p c/objects c/refs; echo 'ref: refs/heads/main' > c/HEAD; mv c d/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.repository()
			w.outsideSh("echo '[core]' > evil")
			script := "add() { git update-index --add --cacheinfo $1,$(git hash-object -w evil),$2; }\n"
			w.run(append(historyOn, "--", "bash", "-c", script+c.first)...)
			r := w.run(append(historyOn, "--", "bash", "-c", c.next)...)
			w.outsideSh("git checkout -q .")
			if out := w.outsideSh("for d in b d/b; do test -d $d/objects -a -d $d/refs -a -f $d/HEAD && ls -d $d/config $d/hooks/x; done; true"); out != "" {
				t.Errorf("git outside wrote %s: %s", out, r)
			}
		})
	}
	// One that is tracked can be restored.
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh("git init -q --bare b; rm -r b/hooks; for d in b/objects b/refs; do touch $d/keep; done; git add b; git commit -qm b")
	w.sh("set -e; rm -rf b; git checkout -q .; git -C b rev-parse --git-dir; git switch -qc other; git rm -rq b; git commit -qm none; git switch -q main; test -f b/config", historyOn...)
}

// TestIndexIsNotCut: a part of an index may say something else than the whole of it.
func TestIndexIsNotCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -q -m one")
	for _, name := range []string{"index", "HEAD", "refs/heads/main"} {
		was := w.outsideSh("sha256sum .git/" + name)
		r := w.run(append(historyOn, "--", "python3", "-c", "import os; os.truncate('.git/"+name+"', 7)")...)
		if r.code == 0 || w.outsideSh("sha256sum .git/"+name) != was {
			t.Errorf("%s: %s", name, r)
		}
	}
}

// resolutions have git copy a file into the repository, where a run can read it.
var resolutions = []struct{ name, leave, later string }{
	{"a path out of the tree", `printf '%s\t../../outside/secret\0' $H > .git/MERGE_RR`, ""},
	{"an absolute one", `printf '%s\t%s\0' $H $SECRET > .git/MERGE_RR`, ""},
	{"a link", `ln -s $SECRET l; printf '%s\tl\0' $H > .git/MERGE_RR`, ""},
	{"a link in a link", `ln -s $(dirname $SECRET) l; printf '%s\tl/secret\0' $H > .git/MERGE_RR`, ""},
	{"a link afterwards", `echo > l; printf '%s\tl\0' $H > .git/MERGE_RR; ln -sf $SECRET l`, ""},
	{"a link moved there", `echo > l; printf '%s\tl\0' $H > .git/MERGE_RR; ln -s $SECRET k; mv k l`, ""},
	{"a directory with a link", `mkdir d e; echo > d/l; ln -s $SECRET e/l; printf '%s\td/l\0' $H > .git/MERGE_RR; rm -r d; mv e d`, ""},
	{"in the next run", `echo > l; printf '%s\tl\0' $H > .git/MERGE_RR`, `ln -sf $SECRET l`},
	{"forgotten by another", `printf '%s\tl\0' $H > .git/MERGE_RR; echo > l; mkdir .git/other; : > .git/other/MERGE_RR; ln -sf $SECRET l`, ""},
	{"while the project cannot be searched", `mkdir d; printf '%s\td/l\0' $H > .git/MERGE_RR; echo > d/l; cd d; chmod 0 ..; ln -sf $SECRET l; chmod 755 ..`, ""},
	{"while the list cannot be read", `printf '%s\tl\0' $H > .git/MERGE_RR; echo > l; chmod 0 .git/MERGE_RR; ln -sf $SECRET l; chmod 644 .git/MERGE_RR`, ""},
	{"a secret of the project", `printf '%s\t.env\0' $H > .git/MERGE_RR`, ""},
	{"moved there", `printf '%s\t.env\0' $H > x; mv x .git/MERGE_RR`, ""},
}

// TestResolutions: what git remembers of conflicts takes no file into the repository that
// a run may not read.
func TestResolutions(t *testing.T) {
	t.Parallel()
	for _, c := range resolutions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			secret := w.outside + "/secret"
			w.write(secret, "open sesame\n")
			copied := func(dir string, inside bool) bool {
				w.outsideSh("mkdir -p " + dir + " && cd " + dir + " && git init -q -b main . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one && echo 'PASSWORD=open sesame' > .env")
				script := "SECRET=" + secret + "\nH=" + strings.Repeat("a", 40) + "\n"
				first := script + "mkdir -p .git/rr-cache/$H; printf '<<<<<<<\\na\\n=======\\nb\\n>>>>>>>\\n' > .git/rr-cache/$H/preimage\n" + c.leave
				for _, leave := range []string{first, script + c.later + "\ntrue"} {
					if inside {
						t.Log(w.run(append(historyOn, "--", "bash", "-c", leave)...))
					} else {
						w.outsideSh("cd " + dir + "\n" + leave + "\ntrue")
					}
				}
				w.outsideSh("cd " + dir + "; " + commits + "; true")
				text, _ := os.ReadFile(dir + "/.git/rr-cache/" + strings.Repeat("a", 40) + "/postimage")
				return strings.Contains(string(text), "open sesame")
			}
			free := w.outside + "/free/a"
			if c.name == "a path out of the tree" {
				w.outsideSh("mkdir -p " + w.outside + "/outside && cp " + secret + " " + w.outside + "/outside/secret")
			}
			if !copied(free, false) {
				t.Fatal("without walls git copies nothing: it does no harm")
			}
			if copied(w.project, true) {
				t.Error("git outside copied what a run may not read to where it can read it")
			}
		})
	}
}

// TestResolutionsWork: a conflict of which git remembers the resolution is resolved inside.
func TestResolutionsWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && git config rerere.enabled true && echo 0 > f && git add f && git commit -qm 0 && git switch -qc side && echo 1 > f && git commit -qam 1 && git switch -q main && echo 2 > f && git commit -qam 2")
	out := w.sh("git merge side; echo 3 > f; git add f; git commit -qm merged && git reset -q --hard HEAD~1 && git merge side; cat f; git rerere forget f; git merge --abort")
	if !strings.Contains(out, "\n3\n") {
		t.Errorf("the resolution is not remembered: %q", out)
	}
}

// TestIndexOfWhatMovesOnItsWay: a repository of before the run does not come, in a directory
// that the run has made, to where the index has a hook of it.
func TestIndexOfWhatMovesOnItsWay(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]string{
		"moved":       "mv new place",
		"once more":   "mkdir more; mv new more/place; mv more/place place",
		"exchanged":   "mkdir place; " + python("L.renameat2(-100, b'new', -100, b'place', 2)"),
		"and renamed": "mv new/old new/x; mv new/x new/old; mv new place",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			w.repository()
			w.outsideSh("git clone -q --bare . old; cp -r . ../free")
			script := `h=$(printf '#!/bin/sh\ntouch ~/PWN\n' | git hash-object -w --stdin); mkdir new; mv old new/old
				git update-index --add --cacheinfo 100755,$h,place/old/hooks/pre-receive
				` + on
			act := "\ngit checkout -q -f .; echo x > file; git commit -qm x file; git push -q place/old main; true"
			r := w.run(append(historyOn, "--", "bash", "-c", script)...)
			w.outsideSh(act)
			if w.mark() {
				t.Errorf("git ran it: %s", r)
			}
			w.outsideSh("cd ../free\n" + script + act)
			if !w.mark() {
				t.Error("canary: without walls it does not run either")
			}
		})
	}
}
