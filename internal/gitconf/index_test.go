package gitconf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// indexes makes repositories with an index of each kind that git writes.
func indexes(t testing.TB) map[string]int {
	t.Helper()
	made := make(map[string]int)
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			dir := t.TempDir()
			script := "git init -q --object-format=" + format + " . && mkdir -p a/b 'sp ace' && for i in $(seq 40); do echo $i > a/b/f$i; done && : > a/b.c && : > 'sp ace/x' && : > .gitignore && : > " + strings.Repeat("l", 250) +
				" && git add . && git update-index --index-version " + version
			if version == "3" {
				script += " && echo n > new && git add -N new"
			}
			if out, err := shell(dir, script); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			made[dir] = map[string]int{"sha1": SHA1, "sha256": SHA256}[format]
		}
	}
	return made
}

func shell(dir, script string) ([]byte, error) {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	return cmd.CombinedOutput()
}

// paths are those that an index gives.
func paths(text []byte, hash int) (names []string, err error) {
	err = IndexEntries(text, hash, func(e IndexEntry) error { names = append(names, string(e.Name)); return nil })
	return names, err
}

func filesOf(dir string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), func(s string) bool { return s == "" }), err
}

// TestIndexEntriesAgreesWithGit: every path that git takes from an index is given to check, of
// indexes that git has written and of damaged ones.
func TestIndexEntriesAgreesWithGit(t *testing.T) {
	rounds := 40
	if os.Getenv("CARREL_SOAK") != "" {
		rounds = 3000
	}
	for dir, hash := range indexes(t) {
		at := dir + "/.git/index"
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		want, err := filesOf(dir)
		if got, e := paths(text, hash); err != nil || e != nil || !slices.Equal(got, want) {
			t.Fatalf("%v and %v, %v and %v", got, want, e, err)
		}
		if _, err := paths(text, SHA1+SHA256-hash); err == nil {
			t.Error("with names of another length it is an index, too")
		}
		for range rounds {
			bad := slices.Clone(text)
			for range 1 + rand.Intn(3) {
				switch i := rand.Intn(len(bad) - hash); rand.Intn(4) {
				case 0:
					bad[i] = byte(rand.Intn(256))
				case 1:
					bad[i] ^= 1 << rand.Intn(8)
				case 2:
					bad = append(bad[:i], bad[min(i+rand.Intn(9), len(bad)):]...)
				default:
					bad = slices.Insert(bad, i, []byte(strings.Repeat("\x00/.g", 2))[:rand.Intn(9)]...)
				}
			}
			if err := os.WriteFile(at, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := paths(bad, hash)
			read, gitErr := filesOf(dir)
			if err != nil || gitErr != nil {
				continue
			}
			for _, name := range read {
				if name == "./" { // how it writes the empty one
					name = ""
				}
				if !slices.Contains(got, name) {
					t.Fatalf("git takes %q from the index, of which these are given: %q\n%x", name, got, bad)
				}
			}
		}
	}
}

// TestIndexEntriesRefuses what another reader could take for other paths.
func TestIndexEntriesRefuses(t *testing.T) {
	entry := func(name string, length int) []byte {
		e := append(make([]byte, 40+SHA1), byte(length>>8), byte(length))
		e = append(e, name...)
		return append(e, make([]byte, 8-len(e)%8)...)
	}
	index := func(count int, rest ...[]byte) []byte {
		b := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(count))
		return append(append(b, bytes.Join(rest, nil)...), make([]byte, SHA1)...)
	}
	extension := func(name string, words ...uint32) []byte {
		b := binary.BigEndian.AppendUint32([]byte(name), uint32(4*len(words)))
		for _, w := range words {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	a, b := entry("a", 1), entry("b/c", 3)
	end := uint32(12 + len(a) + len(b))
	for what, text := range map[string][]byte{
		"a longer name than it says": index(1, entry("a/../../b", 1)),
		"a shorter one":              index(1, entry("a", 2)),
		"no such version":            append([]byte("DIRC\x00\x00\x00\x05\x00\x00\x00\x00"), make([]byte, 20)...),
		"no index":                   []byte("something else that is long enough for one"),
		"fewer than it says":         index(3, a, b),
		"blocks elsewhere":           index(2, a, b, extension("IEOT", 1, 12, 1, uint32(13+len(a)), 1)),
		"blocks of fewer":            index(2, a, b, extension("IEOT", 1, 12, 1)),
		"blocks of more":             index(2, a, b, extension("IEOT", 1, 12, 2, uint32(12+len(a)), 1)),
		"an end elsewhere":           index(2, a, b, append(extension("EOIE", 12, 0, 0, 0, 0, 0), nil...)),
		"an end in an entry":         index(1, entry("a/EOIE\x01\x01\x01\x01\x01\x01\x01\x0c"+strings.Repeat("h", 18), 32)),
		"half an extension":          index(2, a, b, []byte("TREE\x00\x00\xff\xff")),
	} {
		if names, err := paths(text, SHA1); err == nil {
			t.Errorf("%s: %q", what, names)
		}
	}
	for what, text := range map[string][]byte{
		"none":     index(0),
		"nothing":  nil,
		"two":      index(2, a, b),
		"in two":   index(2, a, b, extension("IEOT", 1, 12, 1, uint32(12+len(a)), 1), extension("EOIE", end, 0, 0, 0, 0, 0)),
		"with one": index(1, a, extension("TREE", 1, 2)),
	} {
		if _, err := paths(text, SHA1); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused := errors.New("refused")
	if err := IndexEntries(index(2, a, b), SHA1, func(e IndexEntry) error {
		if string(e.Name) == "b/c" {
			return refused
		}
		return nil
	}); err != refused {
		t.Error(err)
	}
}

func FuzzIndexEntries(f *testing.F) {
	for dir, hash := range indexes(f) {
		text, err := os.ReadFile(dir + "/.git/index")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, hash == SHA256)
	}
	f.Fuzz(func(t *testing.T, text []byte, long bool) {
		hash := SHA1
		if long {
			hash = SHA256
		}
		n := 0
		_ = IndexEntries(text, hash, func(IndexEntry) error { n++; return nil })
		if n > len(text)/62 {
			t.Errorf("%d entries in %d bytes", n, len(text))
		}
	})
}

// BenchmarkIndexEntries is what an index of 50,000 files costs each time that it is written.
func BenchmarkIndexEntries(b *testing.B) {
	text := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), 50_000)
	for i := range 50_000 {
		name := fmt.Sprintf("internal/packages/of/some/depth/file%06d.go", i)
		e := append(append(make([]byte, 60), 0, byte(len(name))), name...)
		text = append(text, append(e, make([]byte, 8-len(e)%8)...)...)
	}
	text = append(text, make([]byte, SHA1)...)
	for b.Loop() {
		if err := IndexEntries(text, SHA1, func(IndexEntry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// TestIndexOtherwise: what git would read in an index that is meant for another length of
// names, with what it does not look at.
func TestIndexOtherwise(t *testing.T) {
	file := func(count byte, entries string) []byte {
		return []byte("DIRC\x00\x00\x00\x02\x00\x00\x00" + string(count) + entries)
	}
	entry := func(flags, name string) string {
		e := strings.Repeat("\x00", 60) + flags + name
		return e + strings.Repeat("\x00", 8-len(e)%8)
	}
	for what, c := range map[string]struct {
		text []byte
		good bool
	}{
		"none":                   {file(0, ""), true},
		"a name":                 {file(1, entry("\x00\x01", "a")), true},
		"one out of the tree":    {file(1, entry("\x00\x04", "../a")), false},
		"its end not looked at":  {file(1, entry("\x00\x03", "../a")), false},
		"of unknown length":      {file(1, entry("\x0f\xff", "../a")), false},
		"behind another":         {file(2, entry("\x00\x01", "a")+entry("\x00\x04", "../a")), false},
		"with more flags":        {file(1, entry("\x40\x04", "\x20\x00../a")), false},
		"with unknown ones":      {file(1, entry("\x40\x04", "\x01\x00../a")), true},
		"too few":                {file(2, entry("\x00\x01", "a")), false},
		"in an order of its own": {file(1, entry("\x00\x01", "a")+"EOIE"+strings.Repeat("\x00", 8+2*SHA1)), false},
	} {
		err := IndexOtherwise(c.text, SHA1, func(name string) error {
			if strings.HasPrefix(name, "..") {
				return errors.New("out of the tree")
			}
			return nil
		})
		if (err == nil) != c.good {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestIndexWithoutStat: two indexes are the same without what git remembers of the disk if
// git has only looked at the files again, and are not if anything is staged otherwise.
func TestIndexWithoutStat(t *testing.T) {
	for dir := range indexes(t) {
		read := func() []byte {
			text, err := os.ReadFile(dir + "/.git/index")
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		do := func(script string) {
			if out, err := shell(dir, script); err != nil {
				t.Fatalf("%s: %s: %v", script, out, err)
			}
		}
		first := read()
		want := IndexWithoutStat(first)
		if want == nil || len(want) != len(first) {
			t.Fatalf("%s: %d bytes of %d", dir, len(want), len(first))
		}
		do("touch -d 2001-02-03 a/b/f1 a/b/f2; cp a/b/f3 x; mv x a/b/f3; git status")
		if again := read(); bytes.Equal(again, first) {
			t.Fatal("git has written nothing")
		} else if got := IndexWithoutStat(again); !bytes.Equal(got, want) {
			t.Error("a status makes another index of it")
		}
		for _, script := range []string{
			"echo other > a/b/f1; git add a/b/f1", "git update-index --chmod=+x a/b/f2", "git update-index --assume-unchanged a/b/f3",
			"git rm -q --cached a/b/f4", "echo n > a/b/n; git add a/b/n",
		} {
			before := IndexWithoutStat(read())
			do(script)
			if after := IndexWithoutStat(read()); after == nil || bytes.Equal(after, before) {
				t.Errorf("%s is not seen", script)
			}
		}
		torn := read()
		for _, at := range []int{5, 12 + 30, len(torn) / 2, len(torn) - 1} {
			bad := bytes.Clone(torn)
			bad[at] ^= 1
			if IndexWithoutStat(bad) != nil {
				t.Errorf("damaged at %d, and taken for an index", at)
			}
		}
	}
	for _, text := range []string{"", "DIRC", strings.Repeat("x", 100)} {
		if IndexWithoutStat([]byte(text)) != nil {
			t.Errorf("%q is taken for an index", text)
		}
	}
}
