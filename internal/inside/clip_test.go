package inside

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// board is a clipboard in memory: by selection and format.
type board struct {
	has   map[string]map[string]string
	fails error
}

func (b *board) types(selection string) ([]string, error) {
	if b.fails != nil {
		return nil, b.fails
	}
	if len(b.has[selection]) == 0 {
		return nil, &clipError{ClipEmpty, "nothing was copied"}
	}
	return slices.Sorted(maps.Keys(b.has[selection])), nil
}

func (b *board) paste(selection, kind string, to io.Writer) error {
	if _, err := b.types(selection); err != nil {
		return err
	}
	if IsText(kind) {
		kind = "UTF8_STRING"
	}
	text, ok := b.has[selection][kind]
	if !ok {
		return &clipError{ClipNoType, "not as " + kind}
	}
	_, err := io.WriteString(to, text)
	return err
}

func (b *board) copy(selection, kind string, data []byte) error {
	if IsText(kind) {
		kind = "UTF8_STRING"
	}
	b.has[selection] = map[string]string{kind: string(data)}
	return b.fails
}

func (b *board) clear(selection string) error {
	delete(b.has, selection)
	return b.fails
}

// run has a helper work on a board, and gives its status and what it printed.
func (b *board) run(in, line string) (status int, out, says string) {
	var o, e bytes.Buffer
	args := strings.Fields(line)
	status = clipHelpers[args[0]](args[1:], &streams{in: strings.NewReader(in), out: &o, err: &e, clip: b})
	return status, o.String(), e.String()
}

// newBoard has a text in one selection, and two formats in another.
func newBoard() *board {
	return &board{has: map[string]map[string]string{Primary: {"UTF8_STRING": "first\n"},
		Clipboard: {"UTF8_STRING": "text\n", "image/png": "\x89PNG\r\n\x1a\n"}}}
}

// TestHelpersPaste: what each program prints, and how it ends, is what the one of that name does.
func TestHelpersPaste(t *testing.T) {
	for _, c := range []struct {
		line   string
		status int
		out    string
		says   string
	}{
		{"xclip -o", 0, "first\n", ""}, {"xclip -out -rmlastnl", 0, "first", ""}, {"xclip -o -selection clipboard", 0, "text\n", ""},
		{"xclip -sel c -o", 0, "text\n", ""}, {"xclip -o -sel CLIP", 0, "text\n", ""}, {"xclip -i -o", 0, "first\n", ""},
		{"xclip -sel s -o", 1, "", "Error: target STRING not available\n"},
		{"xclip -sel c -o -t TARGETS", 0, "TARGETS\nUTF8_STRING\nimage/png\n", ""},
		{"xclip -sel c -o -t image/png", 0, "\x89PNG\r\n\x1a\n", ""},
		{"xclip -sel c -o -target image/gif", 1, "", "Error: target image/gif not available\n"},
		{"xclip -version", 0, "", "xclip: " + clipVersion}, {"xclip -help", 0, "", xclipHelp},

		{"xsel -o", 0, "first\n", ""}, {"xsel --output --trim", 0, "first", ""}, {"xsel -bo", 0, "text\n", ""},
		{"xsel --clip --out", 0, "text\n", ""}, {"xsel -so", 0, "", ""}, {"xsel -k", 0, "", ""}, {"xsel -h", 0, xselHelp, ""},
		{"xsel -t 5 -o", 0, "first\n", ""}, {"xsel -o file", 0, xselHelp, ""}, {"xsel -Q", 0, xselHelp, ""},
		{"xsel --version", 0, "xsel: " + clipVersion, ""},

		{"wl-paste", 0, "text\n\n", ""}, {"wl-paste -n", 0, "text\n", ""}, {"wl-paste -p --no-newline", 0, "first\n", ""},
		{"wl-paste -l", 0, "UTF8_STRING\nimage/png\n", ""}, {"wl-paste -t image/png", 0, "\x89PNG\r\n\x1a\n", ""},
		{"wl-paste -nt text", 0, "text\n", ""}, {"wl-paste --type=STRING -n", 0, "text\n", ""},
		{"wl-paste -t image/gif", 1, "", "No suitable type of content copied\n"},
		{"wl-paste -w cat", 1, "", "wl-paste: the clipboard of a workspace cannot be watched\n"},
		{"wl-paste more", 1, "", "wl-paste: unexpected argument: more\n" + wlPasteHelp},
		{"wl-paste --no-such", 1, "", "wl-paste: unrecognized option '--no-such'\n" + wlPasteHelp},
	} {
		if status, out, says := newBoard().run("", c.line); status != c.status || out != c.out || says != c.says {
			t.Errorf("%s: %d, %q, %q; want %d, %q, %q", c.line, status, out, says, c.status, c.out, c.says)
		}
	}
	if status, _, says := (&board{}).run("", "wl-paste"); status != 1 || says != "No selection\n" {
		t.Errorf("where nothing was copied: %d, %q", status, says)
	}
	broken := &board{fails: errors.New("no supervisor")}
	for _, line := range []string{"xclip -o", "xsel -o", "wl-paste"} {
		if status, out, says := broken.run("", line); status != 1 || out != "" || !strings.Contains(says, "no supervisor") {
			t.Errorf("%s: %d, %q, %q", line, status, out, says)
		}
	}
}

// TestHelpersCopy: what is on the clipboard afterwards, and where.
func TestHelpersCopy(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\nrest"
	for _, c := range []struct {
		in, line  string
		selection string
		kind      string // UTF8_STRING where ""
		want      string
		out       string
	}{
		{"new\n", "xclip", Primary, "", "new\n", ""}, {"new\n", "xclip -sel clip -r", Clipboard, "", "new", ""},
		{"new", "xclip -f", Primary, "", "new", "new"}, {"new", "xclip -i -t image/png", Primary, "image/png", "new", ""},
		{"new", "xclip -sel sec -o -i", Secondary, "", "new", ""}, {"new", "xclip -", Primary, "", "new", ""},

		{"new\n", "xsel -i", Primary, "", "new\n", ""}, {"new\n", "xsel -ib --trim", Clipboard, "", "new", ""},
		{"new", "xsel -a", Primary, "", "first\nnew", ""}, {"new", "xsel --append -s", Secondary, "", "new", ""},
		{"new", "xsel -io", Primary, "", "new", "first\n"},

		{"new\n", "wl-copy", Clipboard, "", "new\n", ""}, {"new\n", "wl-copy -np", Primary, "", "new", ""},
		{"in", "wl-copy two words", Clipboard, "", "two words", ""}, {png, "wl-copy", Clipboard, "image/png", png, ""},
		{"\xff\xd8\xff", "wl-copy", Clipboard, "image/jpeg", "\xff\xd8\xff", ""}, {png, "wl-copy -t text", Clipboard, "", png, ""},
		{"a\x00b", "wl-copy", Clipboard, "application/octet-stream", "a\x00b", ""},
		{"RIFF....WEBP", "wl-copy", Clipboard, "image/webp", "RIFF....WEBP", ""}, {"RIFF....WAVE", "wl-copy", Clipboard, "", "RIFF....WAVE", ""},
		{"BM", "wl-copy", Clipboard, "", "BM", ""}, {"<b>", "wl-copy -t text/html", Clipboard, "text/html", "<b>", ""},
		{"x", "wl-copy -- -t", Clipboard, "", "-t", ""},
	} {
		b := newBoard()
		status, out, says := b.run(c.in, c.line)
		if c.kind == "" {
			c.kind = "UTF8_STRING"
		}
		if got := b.has[c.selection]; status != 0 || out != c.out || says != "" || len(got) != 1 || got[c.kind] != c.want {
			t.Errorf("%q to %s: %d, %q, %q, %q", c.in, c.line, status, out, says, got)
		}
	}
	for line, selection := range map[string]string{"xsel -c": Primary, "xsel -db": Clipboard, "wl-copy -c": Clipboard,
		"wl-copy -cp": Primary} {
		b := newBoard()
		if status, _, _ := b.run("in", line); status != 0 || len(b.has) != 1 || b.has[selection] != nil {
			t.Errorf("%s: %d, %q", line, status, b.has)
		}
	}
	b := newBoard()
	if status, _, _ := b.run("", "xsel -x"); status != 0 || b.has[Secondary]["UTF8_STRING"] != "first\n" ||
		b.has[Primary]["UTF8_STRING"] != "" {
		t.Errorf("exchanged: %q", b.has)
	}
	for _, line := range []string{"xclip /no/such/file", "wl-copy --no-such"} {
		b := newBoard()
		if status, _, says := b.run("in", line); status != 1 || says == "" || len(b.has[Clipboard]) != 2 ||
			b.has[Primary]["UTF8_STRING"] != "first\n" {
			t.Errorf("%s: %d, %q, %q", line, status, says, b.has)
		}
	}
}

// TestFilesOfXclip: files are copied one after the other, with what comes on standard input at "-".
func TestFilesOfXclip(t *testing.T) {
	dir, b := t.TempDir(), newBoard()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(dir+"/"+name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, says := b.run("in", fmt.Sprintf("xclip %[1]s/b - %[1]s/a", dir)); status != 0 || b.has[Primary]["UTF8_STRING"] != "bina" {
		t.Errorf("%d, %q, %q", status, says, b.has[Primary])
	}
}

// TestWantedFormat: the file that is written says by its name which format is wanted; else a text
// goes before others.
func TestWantedFormat(t *testing.T) {
	offered := []string{"image/png", "text/html", "UTF8_STRING"}
	for name, want := range map[string]string{"x.png": "image/png", "X.PNG": "image/png", "x.gif": "UTF8_STRING", "x": "UTF8_STRING"} {
		f, err := os.Create(t.TempDir() + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := wanted(f, offered); got != want {
			t.Errorf("%s: %s", name, got)
		}
		f.Close()
	}
	for want, list := range map[string][]string{"text/html": {"image/png", "text/html"}, "image/png": {"image/png", "image/gif"}, "": nil} {
		if got := wanted(io.Discard, list); got != want {
			t.Errorf("%q: %s", list, got)
		}
	}
}

// TestOptionsAsGetopt: options as getopt_long(3) reads them.
func TestOptionsAsGetopt(t *testing.T) {
	known := []option{{"append", 'a', false}, {"trim", 0, false}, {"type", 't', true}}
	for line, want := range map[string]string{ // name=value, then the rest; or ! and the refusal
		"-a x -a y":       "append= append= | x y",
		"-at value":       "append= type=value |",
		"-tvalue -a":      "type=value append= |",
		"-ta":             "type=a |",
		"--type=a=b":      "type=a=b |",
		"--type --append": "type=--append |",
		"--ty v":          "type=v |",
		"--app":           "append= |",
		"--t":             "!unrecognized option '--t'",
		"--append=x":      "!unrecognized option '--append=x'",
		"--type":          "!option '--type' requires an argument",
		"-t":              "!option requires an argument -- 't'",
		"-ax":             "!invalid option -- 'x'",
		"--none":          "!unrecognized option '--none'",
		"-- -a --type":    "| -a --type",
		"- x":             "| - x",
		"--=x":            "!unrecognized option '--=x'",
	} {
		given, rest, err := getopt(strings.Fields(line), known)
		got := ""
		for _, w := range given {
			got += w.name + "=" + w.value + " "
		}
		if got = strings.TrimSpace(got + "| " + strings.Join(rest, " ")); err != nil {
			got = "!" + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestNoOptionWithoutName: a program with one long option does not take none for it.
func TestNoOptionWithoutName(t *testing.T) {
	if given, _, err := getopt([]string{"--="}, []option{{"type", 't', true}}); err == nil {
		t.Errorf("%+v", given)
	}
}

// TestSignsAs: which of git's calls of gpg ask for a signature.
func TestSignsAs(t *testing.T) {
	for line, want := range map[string][2]bool{"--status-fd=2 -bsau KEY": {true, true}, "-bsau KEY": {true, false},
		"--detach-sign": {true, false}, "--verify sig -": {false, false}, "--status-fd=1 --verify": {false, false}, "": {false, false}} {
		if signs, status := signsAs(strings.Fields(line)); signs != want[0] || status != want[1] {
			t.Errorf("%s: %v, %v", line, signs, status)
		}
	}
	if _, err := readBounded(io.LimitReader(zeros{}, maxKeyQuestion+1)); err == nil {
		t.Error("more than is taken")
	}
	if data, err := readBounded(io.LimitReader(zeros{}, maxKeyQuestion)); err != nil || len(data) != maxKeyQuestion {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestLinksAreOpened: one link at a time, and the status is what the supervisor said.
func TestLinksAreOpened(t *testing.T) {
	for _, c := range []struct {
		args  []string
		reply Reply
		err   error
		code  int
		says  string
	}{
		{[]string{"https://x"}, Reply{OK: true}, nil, exitOpened, ""},
		{[]string{"https://x"}, Reply{Message: "off"}, nil, exitFailed, "off"},
		{[]string{"https://x"}, Reply{}, errors.New("no socket"), exitFailed, "no socket"},
		{nil, Reply{OK: true}, nil, exitSyntax, "one link"}, {[]string{"a", "b"}, Reply{OK: true}, nil, exitSyntax, "one link"},
	} {
		var says bytes.Buffer
		asked := 0
		code := BuiltIn(append([]string{"xdg-open"}, c.args...), io.Discard, &says, func(r Request) (Reply, error) {
			if asked++; r.Operation != OpOpen || r.URL != c.args[0] {
				t.Errorf("%+v", r)
			}
			return c.reply, c.err
		})
		if code != c.code || !strings.Contains(says.String(), c.says) || (asked == 1) != (c.code != exitSyntax) {
			t.Errorf("%q: %d, %q, asked %d times", c.args, code, says.String(), asked)
		}
	}
	for name, want := range map[string][2]bool{"xdg-open": {true, true}, "xclip": {true, false}, "gh": {true, false}, "afplay": {true, true},
		"notify-send": {true, true}, "bash": {false, false}} {
		if got := [2]bool{IsHelper("/run/carrel/bin/" + name), IsBuiltIn(name)}; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
