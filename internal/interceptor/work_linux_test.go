package interceptor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitWorks: a repository is made, changed, packed and taken back through the file system.
func TestGitWorks(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport)
			if err := os.WriteFile(d.root+"/was", []byte("there\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			before := tree(t, d.root)
			out, err := d.sh(`export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
				export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; set -e
				git init -q . && git add was && git commit -q -m one
				git checkout -q -b side && echo more >>was && git commit -q -a -m two
				git checkout -q - && echo new >other && git add other && git commit -q -m three
				git merge -q -m merged side && git gc -q && git repack -q -a -d && git fsck --strict
				git clone -q . clone && git -C clone log --oneline | wc -l && rm -rf clone && git status --porcelain`)
			if err != nil || !strings.HasSuffix(out, "4\n") {
				t.Fatalf("%v: %s\nrefused: %q", err, out, d.refused)
			}
			d.endStep(t)
			d.undo(t, true)
			if after := tree(t, d.root); after != before {
				t.Errorf("before\n%safter\n%s", before, after)
			}
		})
	}
}

// TestManyAtOnce: programs that change the same names at once leave a tree that is the same
// on both sides, and that is taken back as a whole.
func TestManyAtOnce(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport)
			d.must(t, `mkdir a b c; for i in 1 2 3 4 5; do echo was $i >a/$i; echo was $i >b/$i; done`)
			d.endStep(t)
			before := tree(t, d.root)
			one := func(n int) string {
				return fmt.Sprintf(`(for i in $(seq 40); do
					echo %[1]d $i >a/$((i %% 7)); mv a/$((i %% 7)) b/$((i %% 5))
					mkdir -p c/$((i %% 3)); ln -f b/$((i %% 5)) c/$((i %% 3))/l
					mv c/$((i %% 3)) a/d$((i %% 2)); rm -rf a/d$((i %% 2)); rm -f b/$((i %% 4))
					chmod 600 b/*; cat a/* b/* ; ls -R; done) >/dev/null 2>&1 &`, n)
			}
			d.must(t, one(1)+one(2)+one(3)+one(4)+"wait")
			d.endStep(t)
			if got, want := d.must(t, "find . | LC_ALL=C sort"), outside(t, d.root); got != want {
				t.Errorf("inside\n%soutside\n%s", got, want)
			}
			d.undo(t, false)
			if after := tree(t, d.root); after != before {
				t.Errorf("before\n%safter\n%s", before, after)
			}
		})
	}
}

func outside(t *testing.T, root string) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(tree(t, root)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
		out = append(out, "./"+name)
	}
	out[0] = "."
	return strings.Join(out, "\n") + "\n"
}

// TestWhatHasNoNameAnyMore: a program goes on with what it has open, or stands in, when that
// is removed.
func TestWhatHasNoNameAnyMore(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport)
			out, err := d.sh(`mkdir dir && mkfifo fifo && echo text >file
				exec 3<>fifo 4<>file; rm fifo file
				stat -L -c %F /proc/self/fd/3; cat /proc/self/fd/4 2>/dev/null; cat <&4; echo more >&4
				cd dir && rmdir ../dir && stat -c %F . && ! touch x 2>/dev/null && ls -A ..`)
			if err != nil || out != "fifo\ntext\ndirectory\n" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestMappedFiles: what is written by a shared mapping is in the file outside, and is undone.
func TestMappedFiles(t *testing.T) {
	program, err := filepath.Abs("testdata/mapped.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport)
			if err := os.WriteFile(d.root+"/mapped", []byte("before"), 0o644); err != nil {
				t.Fatal(err)
			}
			before := tree(t, d.root)
			if out := d.must(t, `python3 "`+program+`" "$PWD"`); out != "ahelloa aworlda\nwal\n1225\n" {
				t.Errorf("inside: %q", out)
			}
			data, err := os.ReadFile(d.root + "/mapped")
			if err != nil || len(data) != 10000 || string(data[5000:5005]) != "hello" || string(data[9000:9005]) != "world" {
				t.Errorf("outside: %d bytes, %v", len(data), err)
			}
			d.endStep(t)
			d.undo(t, false)
			if after := tree(t, d.root); after != before {
				t.Errorf("before\n%safter\n%s", before, after)
			}
		})
	}
}
