package journal

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestPlainRecords: what is put into CBOR by hand is what the library makes of it.
func TestPlainRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringN(200, 300, -1))
		u64 := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, 300), rapid.Uint64())
		i64 := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-300, 300), rapid.Int64())
		b := func(l string) Bytes { return Bytes(text.Draw(t, l)) }
		id := func() ID {
			return ID{Dev: u64.Draw(t, "dev"), Ino: u64.Draw(t, "ino"), Birth: i64.Draw(t, "birth")}
		}
		object := func() Object { return Object{Segment: text.Draw(t, "segment"), Number: u64.Draw(t, "object")} }
		r := &Record{Stamp: u64.Draw(t, "stamp"), Step: u64.Draw(t, "step"), Time: i64.Draw(t, "time"), At: b("at"), Safe: i64.Draw(t, "safe")}
		if rapid.Bool().Draw(t, "is pre") {
			r.Pre = &Pre{Path: b("path"), Object: object(), Inode: object(), Becomes: b("becomes"),
				Stayed: rapid.Bool().Draw(t, "stayed"), Void: rapid.Bool().Draw(t, "void"), Lost: text.Draw(t, "lost"), State: State{
					Kind: Kind(rapid.Uint8().Draw(t, "kind")), Mode: uint32(u64.Draw(t, "mode")), UID: uint32(u64.Draw(t, "uid")), GID: uint32(u64.Draw(t, "gid")),
					Size: i64.Draw(t, "size"), Mtime: i64.Draw(t, "mtime"), Ctime: i64.Draw(t, "ctime"), Links: uint32(u64.Draw(t, "links")),
					ID: id(), Target: b("target"), Sum: b("sum"), Unread: rapid.Bool().Draw(t, "unread")}}
		}
		if rapid.Bool().Draw(t, "is move") {
			r.Move = &Move{From: b("from"), To: b("to"), Exchange: rapid.Bool().Draw(t, "exchange"), Failed: rapid.Bool().Draw(t, "failed"), ID: id()}
		}
		if !r.plain() {
			t.Fatal("it is plain")
		}
		want, err := byLibrary(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendRecord(nil, r); !bytes.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
	})
}

// TestOtherRecords: what appendRecord would leave out is not its.
func TestOtherRecords(t *testing.T) {
	for name, r := range map[string]*Record{
		"begin": {Begin: &Begin{}}, "between": {Between: &Pre{}}, "post": {Post: &Post{}}, "end": {End: &End{}}, "do": {Do: &Action{}}, "ready": {Ready: 1},
		"discard": {Discard: &Discard{}}, "head": {Head: &head{}}, "within": {Pre: &Pre{Within: &Within{}}},
		"xattrs": {Pre: &Pre{State: State{Xattrs: map[string][]byte{"user.a": nil}}}},
	} {
		if r.plain() {
			t.Errorf("%s: it is plain", name)
		}
	}
}

// TestPlainFields: who adds a field to a record has to write it here as well.
func TestPlainFields(t *testing.T) {
	for typ, fields := range map[reflect.Type]int{reflect.TypeFor[Record](): 16, reflect.TypeFor[ID](): 3, reflect.TypeFor[Object](): 2,
		reflect.TypeFor[Pre](): 10, reflect.TypeFor[State](): 13, reflect.TypeFor[Move](): 5} {
		if n := typ.NumField(); n != fields {
			t.Errorf("%v has %d fields, and appendRecord or plain knows %d", typ, n, fields)
		}
	}
}
