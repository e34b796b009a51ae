//go:build linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lookedFile is what is remembered of the look at the world's project; "" for nothing.
func (w *world) lookedFile() string {
	w.t.Helper()
	found, err := filepath.Glob(w.home + "/.local/state/carrel/projects/*/looked")
	w.must(err)
	if len(found) > 1 {
		w.t.Fatalf("%q", found)
	}
	return strings.Join(found, "")
}

// TestLookIsRemembered: what was remembered of a large project hides what has come since, at
// any depth and however it came there, and nothing damaged is believed.
func TestLookIsRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh(`cd ~/src/desk && git init -q . && for i in $(seq 300); do mkdir -p many/$i/a/b; echo > many/$i/a/b/file; done
		mkdir -p ~/src/other/a/b; echo TOKEN=SECRET > ~/src/other/a/b/.env`)
	time.Sleep(3 * time.Second) // until they are old enough to be remembered
	w.sh("true")
	at := w.lookedFile()
	if at == "" {
		t.Skip("this file system has no times that can be trusted")
	}
	first, err := os.Stat(at)
	w.must(err)
	if first.Mode() != 0o600 {
		t.Errorf("%v", first.Mode())
	}
	w.sh("true")
	if second, err := os.Stat(at); err != nil || !os.SameFile(first, second) {
		t.Errorf("the canary: all was listed again: %v", err)
	}
	hidden := func(when string, names ...string) {
		t.Helper()
		for _, name := range names {
			if _, err := os.Stat(w.project + "/" + name); err != nil {
				t.Fatal(err)
			}
			if r := w.run("--", "cat", name); r.code == 0 || strings.Contains(r.out, "SECRET") || !strings.Contains(r.err, "Permission denied") {
				t.Errorf("%s: %s: %s", when, name, r)
			}
		}
	}
	w.outsideSh(`cd ~/src/desk/many && echo TOKEN=SECRET > 1/a/b/.env && mkdir 2/a/b/c && echo TOKEN=SECRET > 2/a/b/c/.netrc
		mv 3/a 3/-; cp -r ~/src/other/a 3/a; rm -r 4; mv ~/src/other 4; echo > 5/a/b/x.pem
		mkdir 6/tests; echo 'github_token = SECRET' > 6/tests/.npmrc`)
	came := []string{"many/1/a/b/.env", "many/2/a/b/c/.netrc", "many/3/a/b/.env", "many/4/a/b/.env"}
	hidden("what came outside", came...)
	// What a command makes is its own, until the next one.
	w.sh(`cd many; echo SECRET > 7/a/b/.netrc; mkdir -p x/b; echo SECRET > x/b/.netrc; mv 8/a 8/old; mv x 8/a
		mv 9 x; mkdir -p 9; mv 8/a 9/a; cat 7/a/b/.netrc 9/a/b/.netrc`)
	came = append(came, "many/7/a/b/.netrc", "many/9/a/b/.netrc")
	hidden("what a command made", came...)
	w.outsideSh("printf -- '-----BEGIN %s-----\nSECRET\n' 'PRIVATE KEY' > ~/src/desk/many/5/a/b/x.pem")
	hidden("what was written later", "many/5/a/b/x.pem")
	w.mkdir(w.home+"/.config/carrel", 0o700)
	if r := w.run("--write", w.home, "--", "sh", "-c", "cat "+at+"; echo > "+at); r.code == 0 || !strings.Contains(r.err, at) {
		t.Errorf("inside: %s", r)
	}
	whole := []byte(w.read(at))
	for name, bad := range map[string][]byte{
		"empty": nil, "cut": whole[:len(whole)/2], "longer": append(bytes.Clone(whole), 0), "other bytes": bytes.Repeat([]byte("x"), len(whole)),
		"other names in it": append(bytes.Clone(whole[:200]), bytes.ReplaceAll(whole[200:], []byte("b"), []byte("c"))...),
	} {
		w.must(os.WriteFile(at, bad, 0o600))
		hidden("the file is "+name, came[1], came[4])
		if now := w.read(at); len(bad) == len(now) && string(bad) == now {
			t.Errorf("%s: it is not written anew", name)
		}
	}
}
