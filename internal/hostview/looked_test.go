package hostview

import (
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// manyDirs are enough for the look to be remembered.
const manyDirs = 250

// many makes a project of many directories, and gives its place.
func many(t testing.TB) (root, project string) {
	t.Helper()
	root = build(t, tree{})
	for i := range manyDirs {
		mkdir(t, fmt.Sprintf("%s%s/many/d%d", root, testProject, i))
	}
	return root, root + testProject
}

// lookedAt is what a look finds, begun with what an earlier one gave; hours from now, when
// all has been unchanged for long.
func lookedAt(t testing.TB, root string, looked []byte, hours int) *View {
	o := options(root)
	o.Looked, o.began = looked, time.Now().Add(time.Duration(hours)*time.Hour)
	return inspectWith(t, o)
}

// asFresh compares a look that begins with what was remembered with one that does not.
func asFresh(t interface{ Errorf(string, ...any) }, got, fresh *View) bool {
	same := reflect.DeepEqual(got.Repositories, fresh.Repositories) && reflect.DeepEqual(got.Notes, fresh.Notes)
	if !same || !reflect.DeepEqual(got.Rules, fresh.Rules) {
		t.Errorf("got %v %q %q,\nwant %v %q %q", got.Rules, got.Repositories, got.Notes, fresh.Rules, fresh.Repositories, fresh.Notes)
		return false
	}
	return true
}

// TestRememberedLook: a look that begins with what an earlier one gave finds the same as a
// fresh one, also of what came, went and changed meanwhile, and gives nothing new where
// little has changed.
func TestRememberedLook(t *testing.T) {
	root, project := many(t)
	put := func(name, text string) {
		t.Helper()
		mkdir(t, path.Dir(project+"/"+name))
		if err := os.WriteFile(project+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const key = "-----BEGIN PRIVATE" + " KEY-----\n"
	put("many/d1/.env", "A=1")
	put("many/d2/key.pem", key)
	put("many/d3/.git/HEAD", "ref: refs/heads/x")
	put("many/d4/bare/HEAD", "")
	put("many/d4/bare/objects/x", "")
	put("many/d4/bare/refs/x", "")
	put("many/d5/.git", "gitdir: elsewhere")
	put("many/d6/tests/key.pem", key)
	put("many/d7/node_modules/.env", "A=1")
	put("many/d8/.aws/credentials", "[default]\n")
	put("many/d9/.env/x", "A=1")
	first := lookedAt(t, root, nil, 1)
	want := []string{testProject + "/many/d3", testProject + "/many/d4/bare", testProject + "/many/d5"}
	if got := slices.Sorted(slices.Values(first.Repositories)); !slices.Equal(got, want) {
		t.Errorf("repositories %q, want %q", got, want)
	}
	kept := first.Looked()
	if kept == nil {
		t.Skip("nothing is remembered on this file system")
	}
	second := lookedAt(t, root, kept, 2)
	asFresh(t, second, first)
	if again := second.Looked(); again != nil {
		t.Errorf("nothing has changed, and %d new bytes are given", len(again))
	}
	for _, err := range []error{
		os.Remove(project + "/many/d1/.env"), os.Rename(project+"/many/d3/.git", project+"/many/d10/.git"),
		os.Rename(project+"/many/d6/tests", project+"/many/d6/other"), os.Rename(project+"/many/d7/node_modules", project+"/many/d7/modules"),
		os.WriteFile(project+"/many/d2/key.pem", []byte("-----BEGIN CERTIFICATE-----\n"), 0o600),
		os.Rename(project+"/many/d8", project+"/many/moved"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	put("many/d200/.netrc", "machine x")
	third, fresh := lookedAt(t, root, kept, 3), lookedAt(t, root, nil, 3)
	asFresh(t, third, fresh)
	if reflect.DeepEqual(first.Rules, third.Rules) {
		t.Error("the canary: nothing has changed")
	}
	for i := range 0x100 {
		bad := append([]byte(nil), kept...)
		bad[i*(len(bad)-1)/0xff] ^= 1
		if i%0x20 == 0 {
			asFresh(t, lookedAt(t, root, bad, 3), fresh)
		}
	}
}

// TestLooksAtAProjectThatChanges: whatever happens between two looks, what was remembered
// hides no secret and nothing else.
func TestLooksAtAProjectThatChanges(t *testing.T) {
	root, project := many(t)
	if lookedAt(t, root, nil, 1).Looked() == nil {
		t.Skip("nothing is remembered on this file system")
	}
	name := rapid.SampledFrom(strings.Fields("a b many .git HEAD objects refs .env x.pem tests node_modules .aws credentials d1"))
	text := rapid.SampledFrom([]string{"", "-----BEGIN PRIVATE" + " KEY-----\n", "[remote \"x\"]\n\turl = https://u:SECRET@host/\n"})
	rapid.Check(t, func(r *rapid.T) {
		at := func(what string) string {
			p := project + "/many/d1"
			for range rapid.IntRange(1, 3).Draw(r, "deep") {
				p = path.Join(p, name.Draw(r, what))
			}
			return p
		}
		kept := lookedAt(t, root, nil, 1).Looked()
		for look := range rapid.IntRange(1, 3).Draw(r, "looks") {
			time.Sleep(10 * time.Millisecond) // more than the tick of the clock for files
			for range rapid.IntRange(1, 6).Draw(r, "changes") {
				p := at("path")
				switch rapid.IntRange(0, 5).Draw(r, "what") {
				case 0:
					_ = os.MkdirAll(p, 0o755)
				case 1, 2:
					_ = errors.Join(os.MkdirAll(path.Dir(p), 0o755), os.WriteFile(p, []byte(text.Draw(r, "text")), 0o600))
				case 3:
					_ = os.Rename(p, at("to"))
				case 4:
					_ = os.RemoveAll(p)
				case 5:
					_ = os.Symlink(at("to"), p)
				}
			}
			got, fresh := lookedAt(t, root, kept, look+2), lookedAt(t, root, nil, look+2)
			if !asFresh(r, got, fresh) {
				return
			}
			if rapid.Bool().Draw(r, "keep") {
				kept = fresh.Looked()
			}
		}
	})
}
