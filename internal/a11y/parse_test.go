package a11y

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/godbus/dbus/v5"
	"pgregory.net/rapid"
)

// FuzzFrame: whatever a bus sends, reading it ends, takes no memory that it did
// not send, and decoding it does not end the program.
func FuzzFrame(f *testing.F) {
	f.Add(encodeReply(":1.5", 7, "text"), "s")
	f.Add(encodeReply(":1.5", 7, dbus.MakeVariant("text")), "v")
	f.Add(encodeReply(":1.5", 7, []pair{{":1.5", rootPath}}), "a(so)")
	f.Add(encodeReply(":1.5", 7, []uint32{1, 2}), "au")
	f.Add(encodeReply(":1.5", 7, []struct {
		R, A, P pair
		I, N    int32
		F       []string
		Name    string
		Role    uint32
		D       string
		S       []uint32
	}{{R: pair{":1.5", rootPath}, A: pair{":1.5", rootPath}, P: pair{":1.5", rootPath}, S: []uint32{1, 2}}}), itemsWithIndex)
	f.Add([]byte("l\x02\x00\x01\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "")
	f.Fuzz(func(t *testing.T, b []byte, sig string) {
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			m, err := readFrame(r)
			if errors.Is(err, errFrame) {
				continue
			}
			if err != nil {
				return
			}
			for _, want := range []string{sig, m.signature, itemsWithIndex, itemsWithChildren} {
				vs, err := m.values(want, "s")
				if err != nil || len(vs) == 0 {
					continue
				}
				refOf(vs[0])
				refList(vs[0], 10)
				stateSet(vs[0])
				rectOf(vs[0])
				actionNames(vs[0])
				faceSet(vs[0])
				for ref := range itemMap(vs[0], ":1.5", 10) {
					if !ref.valid() {
						t.Errorf("%v is in the cache", ref)
					}
				}
			}
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"unix:path=/run/user/0/at-spi/bus,guid=5a85", "unix:abstract=/tmp/x", "unix:guid=1,path=/a%20b", "tcp:host=a;unix:path=/x",
		"unix:path=/a/../b", "unix:path=a", "unix:path=/a%", "unix:path=/a%zz", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := unixPath(s)
		if err == nil && (!strings.HasPrefix(p, "/") || strings.Contains(p, "\x00") || strings.Contains(p+"/", "/../")) {
			t.Errorf("%q gives the path %q", s, p)
		}
	})
}

func TestAddress(t *testing.T) {
	for address, want := range map[string]string{
		"unix:path=/run/user/0/at-spi/bus,guid=5a85": "/run/user/0/at-spi/bus",
		"unix:guid=1,path=/a%20b":                    "/a b",
		"unix:abstract=/tmp/x;unix:path=/x":          "/x",
		"unix:abstract=/tmp/x":                       "",
		"tcp:host=localhost,port=1":                  "",
		"unix:path=/a/../etc":                        "",
		"unix:path=a":                                "",
		"unix:path=/a%0":                             "",
		"unix:path=/a%00":                            "",
	} {
		if got, err := unixPath(address); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", address, got, err, want)
		}
	}
}

func TestAddressesAreEscapedAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := "/" + rapid.StringMatching(`[^/\x00.][^/\x00]{0,20}`).Draw(t, "name")
		if got, err := unixPath("unix:path=" + escapeAddress(p) + ",guid=1"); err != nil || got != p {
			t.Errorf("%q comes back as %q, %v", p, got, err)
		}
	})
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{":1.7:42", ":1.7:root", ":1.7/a/b", ":1.7/org/a11y/atspi/accessible/1", "org.x:1", ":1:1", ":1.7:", ":1.7/", ":1.7:a/b", "::1.7:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			return
		}
		again, err := ParseRef(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %#v, written as %q and read as %#v, %v", s, r, r, again, err)
		}
	})
}

func TestRefs(t *testing.T) {
	for text, want := range map[string]Ref{
		":1.7:42":                          {":1.7", objects + "42"},
		":1.7:root":                        {":1.7", rootPath},
		":1.7/a/path":                      {":1.7", "/a/path"},
		":1.7/org/a11y/atspi/accessible/3": {":1.7", objects + "3"},
		":1.7/org/a11y/atspi/null":         {},
		"org.a11y.atspi.Registry:root":     {},
		":1.7":                             {},
		":1.7:":                            {},
		":1.7:4 2":                         {},
		":1.7//a":                          {},
		"":                                 {},
	} {
		got, err := ParseRef(text)
		if got != want || (err == nil) != (want != Ref{}) {
			t.Errorf("%q: %#v, %v, want %#v", text, got, err, want)
		}
	}
	b, _ := json.Marshal(Ref{":1.7", objects + "42"})
	var back Ref
	if err := json.Unmarshal(b, &back); err != nil || string(b) != `":1.7:42"` || back.path != objects+"42" {
		t.Errorf("%s, %#v, %v", b, back, err)
	}
	if err := json.Unmarshal([]byte(`"x"`), &back); err == nil {
		t.Error("JSON that is no reference is taken")
	}
}

func TestTheCacheIsReadInBothForms(t *testing.T) {
	ref := func(n string) []any { return []any{":1.5", dbus.ObjectPath(objects + n)} }
	rest := []any{[]string{textFace}, "name", uint32(61), "about", []uint32{1, 1}}
	form := func(middle ...any) []any { return append(append([]any{}, middle...), rest...) }
	one := itemMap([][]any{
		form(ref("1"), ref("root"), ref("root"), int32(0), int32(2)),
		form(ref("3"), ref("root"), ref("1"), int32(1), int32(5)),
		form(ref("2"), ref("root"), ref("1"), int32(0), int32(0)),
		form([]any{":1.6", dbus.ObjectPath(rootPath)}, ref("root"), ref("1"), int32(0), int32(0)), // another's
		{"too short"},
	}, ":1.5", 10)
	two := itemMap([][]any{form(ref("1"), ref("root"), ref("root"), [][]any{ref("2"), ref("3")})}, ":1.5", 10)
	for i, items := range []map[Ref]*item{one, two} {
		got := items[Ref{":1.5", objects + "1"}]
		if got == nil || !got.complete || len(got.children) != 2 || got.children[0].path != objects+"2" || got.faces != hasText ||
			got.name != "name" || got.role != 61 || got.states != 1<<32|1 {
			t.Errorf("form %d: %+v", i, got)
		}
	}
	if len(one) != 3 || one[Ref{":1.5", objects + "3"}].complete {
		t.Errorf("%v", one)
	}
}

func TestLinesStayLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.String().Draw(t, "said")
		root := &Node{Ref: Ref{":1.5", rootPath}}
		root.Children = []*Node{{
			Ref: Ref{":1.5", objects + "1"}, Role: said, Name: said, Description: said, Text: said, Actions: []string{said}, parent: root, depth: 1,
		}}
		tree := &Tree{Apps: []*App{{Ref: root.Ref, Name: said, Toolkit: said, Problem: said, Root: root}}, Problem: said}
		var b strings.Builder
		if err := tree.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		lines := 3
		if said == "" {
			lines = 2
		}
		if strings.Count(out, "\n") != lines || strings.IndexFunc(out, func(c rune) bool { return c != '\n' && (c < ' ' || c > '~') }) >= 0 {
			t.Errorf("%q", out)
		}
	})
}

func TestClipping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		n := rapid.IntRange(0, 40).Draw(t, "n")
		got := clip(s, n)
		if !utf8.ValidString(got) || len(got) > 3*n+len("…") {
			t.Errorf("%q in %d bytes is %q", s, n, got)
		}
	})
}

func TestQueries(t *testing.T) {
	n := &Node{Role: "push button", Name: "Save", Text: "all", States: []string{"focused", "showing"}, Bounds: &Rect{10, 10, 5, 5}}
	for want, qs := range map[bool][]Query{
		true: {
			{}, {Role: "Push Button"}, {Name: regexp.MustCompile("^S")}, {Content: regexp.MustCompile("all")}, {States: []string{"focused", "!checked"}},
			{Within: &Rect{10, 10, 5, 5}}, {Within: &Rect{0, 0, 100, 100}},
		},
		false: {
			{Role: "button"}, {Name: regexp.MustCompile("^s")}, {Content: regexp.MustCompile("none")}, {States: []string{"checked"}},
			{States: []string{"!focused"}}, {Within: &Rect{11, 10, 50, 50}},
		},
	} {
		for _, q := range qs {
			if q.Match(n) != want {
				t.Errorf("%+v: want %v", q, want)
			}
		}
	}
	if (&Query{Within: &Rect{0, 0, 100, 100}}).Match(&Node{}) {
		t.Error("a node without a place lies within one")
	}
}

func TestServiceFiles(t *testing.T) {
	host := fstest.MapFS{
		"usr/share/dbus-1/services/org.a11y.Bus.service":   {Data: []byte("[D-BUS Service]\nName=org.a11y.Bus\n Exec = /usr/libexec/launcher --x\nSystemdService=at-spi.service\n[Other]\nExec=/bad\n")},
		"usr/share/dbus-1/services/org.gnome.keyring":      {Data: []byte("[D-BUS Service]\nExec=/bin/keyring\n")},
		"usr/share/dbus-1/services/ca.desrt.dconf.service": {Mode: fs.ModeDir},
	}
	got := ServiceFiles(host)
	want := "[D-BUS Service]\nName=org.a11y.Bus\nExec=/usr/libexec/launcher --x\n"
	if len(got) != 1 || string(got["org.a11y.Bus.service"]) != want {
		t.Errorf("%q", got)
	}
}

func TestBusConfigHoldsAnyPath(t *testing.T) {
	got := string(BusConfig(`/tmp/a <&"b/bus`))
	for _, want := range []string{"<listen>unix:path=/tmp/a%20%3c%26%22b/bus</listen>", "<servicedir>/tmp/a &lt;&amp;&#34;b/services</servicedir>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}
