package review

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/review/replay"

	"pgregory.net/rapid"
)

func writtenIndex(t interface{ Fatal(...any) }, dir string, paths []string, records []record) []byte {
	f, err := os.CreateTemp(dir, "index")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w := newIndexWriter(f)
	for i, p := range paths {
		if err := w.add(p, &records[i].Stat, records[i].sum); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.end(f); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestIndexRoundTrip: what is read is what was written, any bytes and numbers.
func TestIndexRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var paths []string
		var records []record
		for range rapid.IntRange(0, 20).Draw(t, "records") {
			paths = append(paths, string(rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "path")))
			r := record{Stat: replay.Stat{Kind: File, Perm: rapid.Uint32().Draw(t, "perm"), Size: rapid.Int64().Draw(t, "size"),
				Mtime: rapid.Int64().Draw(t, "mtime"),
				Ctime: rapid.Int64().Draw(t, "ctime"), Ino: rapid.Uint64().Draw(t, "ino"), Nlink: rapid.Uint64().Draw(t, "nlink")}}
			if rapid.Bool().Draw(t, "has a sum") {
				r.sum = rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "sum")
			}
			records = append(records, r)
		}
		i := 0
		err := readIndex(bytes.NewReader(writtenIndex(t, dir, paths, records)), func(p string, r record) {
			if p != paths[i] || r.Stat != records[i].Stat || !bytes.Equal(r.sum, records[i].sum) {
				t.Errorf("%d: %q %+v, want %q %+v", i, p, r, paths[i], records[i])
			}
			i++
		})
		if err != nil || i != len(paths) {
			t.Errorf("%d of %d: %v", i, len(paths), err)
		}
	})
}

// TestDamagedIndex: one that is cut, or has another byte anywhere, is an error.
func TestDamagedIndex(t *testing.T) {
	whole := writtenIndex(t, t.TempDir(), []string{"a", "b"}, []record{{Stat: Stat{Kind: File, Size: 7}}, {Stat: Stat{Kind: Dir},
		sum: make([]byte, 32)}})
	read := func(text []byte) error { return readIndex(bytes.NewReader(text), func(string, record) {}) }
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if read(whole[:i]) == nil {
			t.Errorf("cut after %d bytes, it is taken for whole", i)
		}
		for bit := range 8 {
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << bit
			if read(bad) == nil {
				t.Errorf("bit %d of byte %d is another one, and it is taken for whole", bit, i)
			}
		}
	}
}

// FuzzIndex: nothing that is read as an index makes the reader panic or take more than it is.
func FuzzIndex(f *testing.F) {
	f.Add(writtenIndex(f, f.TempDir(), []string{"a"}, []record{{Stat: Stat{Kind: File}}}))
	f.Add([]byte(indexMagic))
	f.Fuzz(func(t *testing.T, text []byte) {
		size := 0
		_ = readIndex(bytes.NewReader(text), func(p string, r record) { size += len(p) + len(r.sum) })
		if size > len(text) {
			t.Errorf("%d bytes of paths in %d", size, len(text))
		}
	})
}

// TestIndexOfTheLayerIsNeeded: a layer whose index is damaged is not compared with anything.
func TestIndexOfTheLayerIsNeeded(t *testing.T) {
	l := over(t, map[string]string{"a": "a"})
	l.upper(map[string]string{"a": "b"})
	name := l.layer.part(0, "index")
	text, err := os.ReadFile(name)
	l.ok(err)
	text[len(text)/2] ^= 1
	l.ok(os.WriteFile(name, text, 0o600))
	if _, err := l.layer.Changes(); err == nil {
		t.Error("it is compared")
	}
}

// TestTreesThatCannotBeLaidOver: a link in place of the directory is refused.
func TestTreesThatCannotBeLaidOver(t *testing.T) {
	dir := realTemp(t)
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	l := &Layer{dir: dir}
	for _, tree := range []string{dir + "/link", dir + "/nothing"} {
		if err := l.begin(0, tree, func(string) {}); err == nil {
			t.Errorf("%s: no error", tree)
		}
	}
}
