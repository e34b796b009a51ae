package inside

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestHelpersShareClipboards has the helpers copy, append, clear and paste in any order: what
// one of them puts there, each of the others takes, and no other selection changes.
func TestHelpersShareClipboards(t *testing.T) {
	pick := func(t *rapid.T, what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	flag := map[string]map[string]string{
		"xsel": {Primary: " -p", Clipboard: " -b"}, "wl": {Primary: " --primary", Clipboard: ""},
		"xclip": {Primary: "", Clipboard: " -selection clipboard"},
	}
	rapid.Check(t, func(t *rapid.T) {
		b := &board{has: map[string]map[string]string{}}
		model := map[string]string{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			selection := pick(t, "selection", Primary, Clipboard)
			text := rapid.StringMatching("[a-c\u00e4\n]{1,5}").Draw(t, "text")
			var line, in, want string
			ends := 0
			switch pick(t, "what", "copy", "copy", "append", "clear", "paste", "paste", "paste") {
			case "copy":
				line = map[string]string{"xsel": "xsel -i", "xclip": "xclip -i", "wl": "wl-copy"}[pick(t, "with", "xsel", "xclip", "wl")]
				in, model[selection] = text, text
			case "append":
				line, in = "xsel -a", text
				model[selection] += text
			case "clear":
				line = pick(t, "with", "xsel -c", "wl-copy --clear")
				delete(model, selection)
			case "paste":
				line, want = pick(t, "with", "xsel -o", "xclip -o", "wl-paste -n"), model[selection]
				if _, some := model[selection]; !some && !strings.HasPrefix(line, "xsel") { // to which that is no error
					ends = 1
				}
			}
			name := strings.TrimSuffix(strings.TrimSuffix(strings.Fields(line)[0], "-copy"), "-paste")
			line += flag[name][selection]
			status, out, says := b.run(in, line)
			if out != want || status != ends || (says == "") != (status == 0) {
				t.Fatalf("%s: status %d, %q, %q; want status %d, %q", line, status, out, says, ends, want)
			}
		}
	})
}

// TestNotesAreBounded: whatever a program has to say, title and body are text of a bounded
// length, and what fits is not changed.
func TestNotesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"a", "\u00e4", "\u6f22", "\xff"}).Draw(t, "letter")
		text = strings.Repeat(text, rapid.IntRange(1, 3*MaxNote).Draw(t, "length"))
		got := shorten(text)
		if len(got) > MaxNote || !utf8.ValidString(got) || len(text) <= MaxNote && utf8.ValidString(text) && got != text {
			t.Errorf("%d bytes of %.4q become %d", len(text), text, len(got))
		}
	})
}
