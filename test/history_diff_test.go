//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// TestDiffOfKinds: whatever a step makes of something is named: what it is, where a
// link leads, its mode, time and name; files by lines, or by size.
func TestDiffOfKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh(`mkfifo pipe fifo; ln -s one link; ln -s one tofile; mkdir dir; echo x > file; echo y > todir; echo m > mode; printf 'no end' > end; printf 'a\0b' > binary; echo t > time
head -c 5000000 /dev/zero | tr '\0' a > big; printf 'a\r\nb\r\n' > crlf; printf 'a\nb\n' > tocrlf; echo z > "$(printf 'we\nird\377')"; echo old > old; mkdir olddir; echo 1 > aaaaaaaaaaaaaaaaaaaaaaaa; printf 'dash\n' > sql`)
	w.sh(`rm pipe; echo file > pipe; rm fifo; ln -s file fifo; ln -sfn two link; rm tofile; echo f > tofile; rm -r dir; mkfifo dir; rm todir; mkdir todir; chmod 755 mode; printf more > end
printf 'a\0c' > binary; touch -d '2000-01-01 00:00:00 UTC' time; echo b >> big; printf 'a\r\nc\r\n' > crlf; printf 'a\r\nb\r\n' > tocrlf; echo q > "$(ls -d we*)"; mv old new; mv olddir newdir; chmod 700 newdir; echo 2 >> aaaaaaaaaaaaaaaaaaaaaaaa
printf -- '-- x\n++ y\n' > sql; printf '\033[31mred' > esc; : > empty`)
	out := w.fine("diff")
	for _, want := range []string{
		"-pipe: fifo\n--- /dev/null\n+++ pipe\n@@ -0,0 +1 @@\n+file\n", "-fifo: fifo\n+fifo: symlink -> file\n", "-link: symlink -> one\n+link: symlink -> two\n", "-tofile: symlink -> one\n",
		"-dir: directory\n+dir: fifo\n", "--- todir\n+++ /dev/null\n", "+todir: directory\n", "\nmode: mode 0755, was 0644\n", "-no end\n\\ No newline at end of file\n+more\n",
		"binary: binary file modified, 3 bytes, were 3\n", "time: time 2000-01-01 ", "big: file modified, 5000002 bytes, were 5000000: more than the 4194304 that are compared\n",
		"-b\n+c\n", "-b\n+a\\x0d\n+b\\x0d\n", "--- \"we\\nird\\xff\"\n+++ \"we\\nird\\xff\"\n", "new: file renamed from old\n", "newdir: directory renamed from olddir\nnewdir: mode 0700, was 0755\n", "+\\x1b[31mred\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("escape sequences where there is no terminal")
	}
	stat := w.fine("diff", "--stat")
	column := -1
	for line := range strings.Lines(stat) {
		if at := strings.LastIndex(line, "  +"); at > 0 && !strings.HasPrefix(line, "\"") {
			if column >= 0 && column != at {
				t.Errorf("not aligned: %s", stat)
				break
			}
			column = at
		}
	}
	if !strings.Contains(stat, "paths, ") || !strings.Contains(stat, "aaaaaaaaaaaaaaaaaaaaaaaa  +1 -0\n") || !strings.Contains(stat, "mode 0755, was 0644") {
		t.Errorf("stat: %s", stat)
	}
	if got := w.fine("diff", "--path", "old"); got != "new: file renamed from old\n" {
		t.Errorf("by the former name: %s", got)
	}

	all := w.inTerminal(w.command(w.bin, "diff", "--path", "sql")).all()
	for _, want := range []string{"\x1b[1m--- sql\x1b[0m", "\x1b[36m@@", "\x1b[31m-dash\x1b[0m", "\x1b[32m+-- x\x1b[0m", "\x1b[32m+++ y\x1b[0m"} {
		if !strings.Contains(all, want) {
			t.Errorf("on a terminal: no %q in %q", want, all)
		}
	}
	w.setenv("NO_COLOR", "1")
	if all := w.inTerminal(w.command(w.bin, "diff", "--path", "sql")).all(); strings.Contains(all, "\x1b") {
		t.Errorf("with NO_COLOR: %q", all)
	}
}

// anyBytes is a string of any bytes in carrel's JSON.
type anyBytes string

func (b *anyBytes) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return json.Unmarshal(data, (*string)(b))
	}
	var coded struct{ Base64 string }
	if err := json.Unmarshal(data, &coded); err != nil {
		return err
	}
	text, err := base64.StdEncoding.DecodeString(coded.Base64)
	*b = anyBytes(text)
	return err
}

// TestHistoryJSONHoldsEveryName: a name of any bytes comes out of each document as it
// is on the disk.
func TestHistoryJSONHoldsEveryName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	odd := w.project + "/a\xff\n\"\x1b\u202e"
	w.write(odd, "before")
	w.sh(`f=$(ls -d a*); echo after > "$f"; mv "$f" "b$f"`)
	var step struct {
		Changes []struct{ Path, From anyBytes }
	}
	w.must(json.Unmarshal([]byte(w.fine("show", "1", "--json")), &step))
	want := anyBytes(w.project + "/ba\xff\n\"\x1b\u202e")
	if len(step.Changes) != 1 || step.Changes[0].Path != want || step.Changes[0].From != anyBytes(odd) {
		t.Errorf("show: %q, want %q from %q", step.Changes, want, odd)
	}
	var steps []struct{ Command []anyBytes }
	w.must(json.Unmarshal([]byte(w.fine("history", "--json")), &steps))
	if len(steps) != 1 || len(steps[0].Command) != 3 {
		t.Errorf("history: %q", steps)
	}
	var undone struct {
		Done              bool
		Restored, Removed []anyBytes
		Conflicts         []struct{ Path anyBytes }
	}
	w.write(string(want), "mine")
	r := w.carrel("undo", "--json")
	w.must(json.Unmarshal([]byte(r.out), &undone))
	if r.code != 125 || undone.Done || len(undone.Conflicts) != 1 || undone.Conflicts[0].Path != want {
		t.Errorf("a conflict: %+v %s", undone, r)
	}
	w.must(json.Unmarshal([]byte(w.fine("undo", "--force", "--json")), &undone))
	if !undone.Done || len(undone.Restored) != 1 || undone.Restored[0] != anyBytes(odd) {
		t.Errorf("undo: %+v", undone)
	}
}

// TestDiffOfARunningStep: it is told with what it has come to by now, with and without its number.
func TestDiffOfARunningStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // the run's socket
	w.outsideSh("mkdir dir; echo one > file")
	run := w.startInside("echo new > dir/new; echo two >> file; echo ready; while [ ! -e end ]; do sleep 0.02; done; rm end")
	want := "--- /dev/null\n+++ dir/new\n@@ -0,0 +1 @@\n+new\n--- file\n+++ file\n@@ -1 +1,2 @@\n one\n+two\n"
	for _, args := range [][]string{{"diff"}, {"diff", "1"}} {
		if got := w.fine(args...); got != want {
			t.Errorf("%v: %s", args, got)
		}
	}
	w.outsideSh("touch end")
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
}
