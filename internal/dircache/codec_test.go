package dircache

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

func sample() (*Dir, map[uint64]fileSystem) {
	leaf := &Dir{Entries: []Entry{{Name: ".env"}}, known: true, stamp: stamp{1, 2, 3, 4, moment{5, 6}, moment{-7, 8}}}
	empty := &Dir{known: true, stamp: stamp{dev: 1, ino: 9, nlink: 2, ctime: moment{sec: 1}}}
	changed := &Dir{Entries: []Entry{{Name: "a\xff\n", Dir: true, Sub: leaf},
		{Name: "gone", Dir: true}, {Name: "empty", Dir: true, Sub: empty}}}
	return &Dir{Entries: []Entry{{Name: "x.pem"}, {Name: "sub", Dir: true, Sub: changed}}, known: true, stamp: stamp{dev: 1, ino: 1 << 63}},
		map[uint64]fileSystem{1: {2, 1 << 63}, 1 << 40: {}}
}

func TestWhatIsKeptComesBack(t *testing.T) {
	root, systems := sample()
	began := time.Unix(1000, 7)
	key := digest([]byte("about"))
	data := encode(root, key, systems, began)
	got, gotSystems := decode(data, key, began)
	if !reflect.DeepEqual(got, root) || !reflect.DeepEqual(gotSystems, systems) {
		t.Errorf("got %+v, %v", got, gotSystems)
	}
	for name, c := range map[string]struct {
		data []byte
		key  [keySize]byte
		now  time.Time
	}{
		"a clock that went back":   {data, key, began.Add(-time.Nanosecond)},
		"about something else":     {data, digest([]byte("other")), began},
		"nothing":                  {nil, key, began},
		"something behind it":      {append(bytes.Clone(data), 0), key, began},
		"a bit more than is taken": {make([]byte, MaxSize+1), key, began},
	} {
		if got, _ := decode(c.data, c.key, c.now); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		if got, _ := decode(bad, key, began); got != nil {
			t.Errorf("byte %d changed: %+v", i, got)
		}
		if got, _ := decode(data[:i], key, began); got != nil {
			t.Errorf("cut to %d: %+v", i, got)
		}
	}
}

// TestBodiesThatAreNoTree: a right checksum is not all.
func TestBodiesThatAreNoTree(t *testing.T) {
	for name, c := range map[string]struct {
		body []byte // time, file systems, directories, entries; flags and entries of each directory
		ok   bool
	}{
		"the canary":                            {[]byte{0, 0, 2, 1, 0, 1, 3, 1, 'a', 0, 0}, true},
		"no directory":                          {[]byte{0, 0, 0, 0}, false},
		"more entries than there are":           {[]byte{0, 0, 1, 0, 0, 1, 0, 1, 'a'}, false},
		"fewer":                                 {[]byte{0, 0, 1, 2, 0, 1, 0, 1, 'a'}, false},
		"more directories than there are":       {[]byte{0, 0, 1, 1, 0, 1, 3, 1, 'a'}, false},
		"one that nothing names":                {[]byte{0, 0, 2, 0, 0, 0, 0, 0}, false},
		"one that names itself":                 {[]byte{0, 0, 2, 1, 0, 0, 0, 1, 3, 1, 'a'}, false},
		"a file that holds something":           {[]byte{0, 0, 2, 1, 0, 1, 2, 1, 'a', 0, 0}, false},
		"a name with a slash":                   {[]byte{0, 0, 1, 1, 0, 1, 0, 1, '/'}, false},
		"the parent":                            {[]byte{0, 0, 1, 1, 0, 1, 1, 2, '.', '.'}, false},
		"a name without an end":                 {[]byte{0, 0, 1, 1, 0, 1, 0, 9, 'a'}, false},
		"flags that are unknown":                {[]byte{0, 0, 1, 0, 2, 0}, false},
		"a stamp without an end":                {[]byte{0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1}, false},
		"a number that is too long":             {bytes.Repeat([]byte{0xff}, 40), false},
		"more directories than there are bytes": {[]byte{0, 0, 0xff, 0xff, 0x3f, 0, 0, 0}, false},
	} {
		if root, _, _, err := decodeBody(string(c.body)); (err == nil) != c.ok || (root != nil) != c.ok {
			t.Errorf("%s: %+v, %v", name, root, err)
		}
	}
}

// FuzzDecode: whatever bytes have a right checksum, what is taken from them is a tree that
// can be written again.
func FuzzDecode(f *testing.F) {
	root, systems := sample()
	f.Add(encode(root, digest(nil), systems, time.Unix(1, 1))[headerSize:])
	f.Add(encode(&Dir{}, digest(nil), nil, time.Unix(0, 0))[headerSize:])
	f.Add([]byte{0, 0, 1, 1, 0, 1, 3, 1, 'a'})
	f.Fuzz(func(t *testing.T, body []byte) {
		root, systems, began, err := decodeBody(string(body))
		if err != nil {
			return
		}
		for level := []*Dir{root}; len(level) > 0; level = level[1:] {
			for _, e := range level[0].Entries {
				if e.Name == "" || e.Name == "." || e.Name == ".." || bytes.ContainsAny([]byte(e.Name), "/\x00") || e.Sub != nil && !e.Dir {
					t.Fatalf("%+v", e)
				}
				if e.Sub != nil {
					level = append(level, e.Sub)
				}
			}
		}
		again, againSystems, at, err := decodeBody(string(encode(root, digest(nil), systems, time.Unix(0, began))[headerSize:]))
		if err != nil || at != began || !reflect.DeepEqual(again, root) || !reflect.DeepEqual(againSystems, systems) {
			t.Fatalf("%v: %+v, want %+v", err, again, root)
		}
	})
}
