package guard

import (
	"encoding/binary"
	"fmt"
	"testing"

	"carrel/internal/gitconf"
	"carrel/internal/protect"

	"pgregory.net/rapid"
)

func TestInTree(t *testing.T) {
	for name, good := range map[string]bool{
		"": true, "a": true, "a/b.c": true, ".gitignore": true, "a/.github/x": true, "x.git/HEAD": true, "git": true, "...": true,
		"é/x": true, "a~1": true,
		"/a": false, "a//b": false, "./a": false, "a/./b": false, "../a": false, "a/..": false, ".git": false, ".git/hooks/x": false,
		"a/.GIT/config": false, "a/.git": false,
		"a/.git:x/b": false, "git~1::$DATA": false, "a\\.git": false, "a:.git": true, "a\\b": true, "a:b/..c": true,
		"git~1/config": false, "a/GIT~1": false, ".git./config": false, ".git /config": false, ".g\u200cit/config": false,
	} {
		if err := inTree(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestOrdinary: no name for ".git" is ordinary.
func TestOrdinary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[.gGiItT~1 :$\x{200c}]{1,8}`).Draw(t, "name")
		if _, is := protect.Component(name, true); is && ordinary(name) {
			t.Fatalf("%q", name)
		}
	})
}

// BenchmarkVetIndex is what an index of 50,000 files costs each time that it is written.
func BenchmarkVetIndex(b *testing.B) {
	text := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), 50_000)
	for i := range 50_000 {
		name := fmt.Sprintf("internal/packages/of/some/depth/file%06d.go", i)
		e := append(append(make([]byte, 60), 0, byte(len(name))), name...)
		text = append(text, append(e, make([]byte, 8-len(e)%8)...)...)
	}
	text = append(text, make([]byte, gitconf.SHA1)...)
	places := make(map[string]*gitPlace)
	for b.Loop() {
		if err := vetIndex(text, gitconf.SHA1, func(e gitconf.IndexEntry) error { return collect(places, e) }); err != nil {
			b.Fatal(err)
		}
	}
}
