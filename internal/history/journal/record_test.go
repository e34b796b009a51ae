package journal

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func someRecord(t *rapid.T) *Record {
	bytesOf := rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 40), func(b []byte) Bytes { return Bytes(b) })
	state := State{Kind: File, Mode: rapid.Uint32Range(0, 0o7777).Draw(t, "mode"), Size: rapid.Int64().Draw(t, "size"), Mtime: rapid.Int64().Draw(t, "mtime"),
		Xattrs: map[string][]byte{"user.\xff": []byte(bytesOf.Draw(t, "attribute"))}}
	r := &Record{Stamp: rapid.Uint64().Draw(t, "stamp"), Step: rapid.Uint64().Draw(t, "step"), At: bytesOf.Draw(t, "at"), Safe: rapid.Int64().Draw(t, "safe")}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 4:
		r.Head = &head{Segment: "0000000000000001-x", Size: rapid.Int64().Draw(t, "of"), Counts: Counts{Added: 1}}
	case 0:
		r.Pre = &Pre{Path: bytesOf.Draw(t, "path"), State: state, Object: Object{"0000000000000001-x", 7}}
	case 1:
		r.Post = &Post{Path: bytesOf.Draw(t, "path"), State: state, Origin: bytesOf.Draw(t, "origin")}
	case 2:
		r.Move = &Move{From: bytesOf.Draw(t, "from"), To: bytesOf.Draw(t, "to"), Exchange: true}
	case 3:
		r.Begin = &Begin{Kind: StepRun, Command: []Bytes{bytesOf.Draw(t, "word")}}
	}
	return r
}

// TestRecordsComeBack: what is written is read, bytes as they are; and of a
// journal that was cut anywhere, or damaged, the whole records before that.
func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var journal []byte
		var ends []int
		var want []*Record
		for range rapid.IntRange(1, 5).Draw(t, "records") {
			r := someRecord(t)
			var err error
			if journal, err = Encode(journal, r); err != nil {
				t.Fatal(err)
			}
			want, ends = append(want, r), append(ends, len(journal))
		}
		cut := rapid.IntRange(0, len(journal)).Draw(t, "cut")
		data := bytes.Clone(journal[:cut])
		if rapid.Bool().Draw(t, "zeros") {
			data = append(data, make([]byte, rapid.IntRange(0, 100).Draw(t, "zeros"))...)
		}
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		for i := 0; ; i++ {
			r, n := Decode(data)
			if n == 0 {
				if i != whole {
					t.Fatalf("read %d records of %d", i, whole)
				}
				return
			}
			if i < len(want) && !reflect.DeepEqual(r, want[i]) {
				t.Fatalf("record %d: %+v, want %+v", i, r, want[i])
			}
			data = data[n:]
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, r := range []*Record{{Stamp: 1, Begin: &Begin{Kind: StepRun}}, {Post: &Post{Path: Bytes("/a")}}, {Do: &Action{Verb: Take}}} {
		data, err := Encode(nil, r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)-1])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for {
			_, n := Decode(data)
			if n == 0 {
				return
			}
			if n < FrameBytes || n > len(data) {
				t.Fatalf("took %d bytes of %d", n, len(data))
			}
			data = data[n:]
		}
	})
}

// TestKeysAreUnique: two fields with one key are both left out, without an error.
func TestKeysAreUnique(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		keys := make(map[string]string)
		for f := range typ.Fields() {
			key, ok := f.Tag.Lookup("cbor")
			if !ok {
				continue
			}
			key, _, _ = strings.Cut(key, ",")
			if other := keys[key]; other != "" {
				t.Errorf("%v: %s and %s both have the key %s", typ, other, f.Name, key)
			}
			keys[key] = f.Name
			check(f.Type)
		}
	}
	check(reflect.TypeFor[Record]())
	if len(seen) < 10 {
		t.Errorf("only %d kinds of parts were looked at", len(seen))
	}
}
