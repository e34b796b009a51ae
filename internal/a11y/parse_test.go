package a11y

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	wire "github.com/godbus/dbus/v5"
	"pgregory.net/rapid"
)

// FuzzValues: whatever a program answers, taking values out of it does not end the
// program, and gives no reference that cannot be asked.
func FuzzValues(f *testing.F) {
	f.Add(encodeReply(":1.5", 7, "text"))
	f.Add(encodeReply(":1.5", 7, []pair{{":1.5", rootPath}}))
	f.Add(encodeReply(":1.5", 7, []uint32{1, 2}))
	f.Add(encodeReply(":1.5", 7, []struct {
		R, A, P pair
		I, N    int32
		F       []string
		Name    string
		Role    uint32
		D       string
		S       []uint32
	}{{R: pair{":1.5", rootPath}, A: pair{":1.5", rootPath}, P: pair{":1.5", rootPath}, S: []uint32{1, 2}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		v := decoded(b)
		refOf(v)
		refList(v, 10)
		stateSet(v)
		rectOf(v)
		actionNames(v)
		faceSet(v)
		for ref := range itemMap(v, ":1.5", 10) {
			if !ref.valid() {
				t.Errorf("%v is in the cache", ref)
			}
		}
	})
}

// decoded gives the first value of a message. Package dbus bounds what is decoded and
// catches the decoder's panics; its own test shows that.
func decoded(b []byte) (v any) {
	defer func() { _ = recover() }()
	if m, err := wire.DecodeMessage(bytes.NewReader(b)); err == nil && len(m.Body) > 0 {
		v = m.Body[0]
	}
	return v
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"unix:path=/run/user/0/at-spi/bus,guid=5a85", "unix:abstract=/tmp/x", "unix:guid=1,path=/a%20b", "tcp:host=a;unix:path=/x",
		"unix:path=/a/../b", "unix:path=a", "unix:path=/a%", "unix:path=/a%zz", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := socketPath(s)
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
		if got, err := socketPath(address); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", address, got, err, want)
		}
	}
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
	ref := func(n string) []any { return []any{":1.5", wire.ObjectPath(objects + n)} }
	rest := []any{[]string{textFace}, "name", uint32(61), "about", []uint32{1, 1}}
	form := func(middle ...any) []any { return append(append([]any{}, middle...), rest...) }
	one := itemMap([][]any{
		form(ref("1"), ref("root"), ref("root"), int32(0), int32(2)),
		form(ref("3"), ref("root"), ref("1"), int32(1), int32(5)),
		form(ref("2"), ref("root"), ref("1"), int32(0), int32(0)),
		form([]any{":1.6", wire.ObjectPath(rootPath)}, ref("root"), ref("1"), int32(0), int32(0)), // another's
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
		tree := &Tree{Apps: []*Application{{Ref: root.Ref, Name: said, Toolkit: said, Problem: said, Root: root}}, Problem: said}
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
