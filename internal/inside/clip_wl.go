package inside

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const wlCopyHelp = `Usage:
	wl-copy [options] text to copy
	wl-copy [options] < file-to-copy

Copy content to the clipboard of the workspace.

Options:
	-o, --paste-once	Accepted; what is copied stays.
	-f, --foreground	Accepted; nothing has to stay in the background.
	-c, --clear		Instead of copying anything, clear the clipboard.
	-p, --primary		Use the "primary" clipboard.
	-n, --trim-newline	Do not copy the trailing newline character.
	-t, --type mime/type	Override the inferred MIME type for the content.
	-s, --seat seat-name	Accepted.
	-v, --version		Display version info.
	-h, --help		Display this message.
This is ` + clipVersion

const wlPasteHelp = `Usage:
	wl-paste [options]

Paste content from the clipboard of the workspace.

Options:
	-n, --no-newline	Do not append a newline character.
	-l, --list-types	Instead of pasting, list the offered types.
	-p, --primary		Use the "primary" clipboard.
	-t, --type mime/type	Override the inferred MIME type for the content.
	-s, --seat seat-name	Accepted.
	-v, --version		Display version info.
	-h, --help		Display this message.
This is ` + clipVersion

var wlCopyOptions = []option{{"paste-once", 'o', false}, {"foreground", 'f', false}, {"clear", 'c', false}, {"primary", 'p', false}, {"trim-newline", 'n', false},
	{"type", 't', true}, {"seat", 's', true}, {"version", 'v', false}, {"help", 'h', false}, {"sensitive", 0, false}}

var wlPasteOptions = []option{{"no-newline", 'n', false}, {"list-types", 'l', false}, {"primary", 'p', false}, {"watch", 'w', true},
	{"type", 't', true}, {"seat", 's', true}, {"version", 'v', false}, {"help", 'h', false}}

// wlCopy does what wl-copy(1) does.
func wlCopy(args []string, s *streams) int {
	given, text, err := getopt(args, wlCopyOptions)
	if err != nil {
		fmt.Fprintf(s.err, "wl-copy: %v\n%s", err, wlCopyHelp)
		return 1
	}
	selection, kind := Clipboard, ""
	var drop, trim bool
	for _, w := range given {
		switch w.name {
		case "help":
			fmt.Fprint(s.out, wlCopyHelp)
			return 0
		case "version":
			fmt.Fprint(s.out, "wl-clipboard: "+clipVersion)
			return 0
		case "primary":
			selection = Primary
		case "clear":
			drop = true
		case "trim-newline":
			trim = true
		case "type":
			kind = w.value
		}
	}
	if drop {
		err = s.clip.clear(selection)
	} else {
		data := []byte(strings.Join(text, " "))
		if len(text) == 0 {
			data, err = readAll(s.in)
			if kind == "" {
				kind = sniff(data)
			}
		}
		if trim {
			data = bytes.TrimSuffix(data, []byte("\n"))
		}
		if kind == "text" { // how one may ask for any
			kind = ""
		}
		if err == nil {
			err = s.clip.copy(selection, kind, data)
		}
	}
	if err != nil {
		fmt.Fprintf(s.err, "wl-copy: %v\n", err)
		return 1
	}
	return 0
}

// pictures begin with these bytes, and then have those at a place further on.
var pictures = []struct {
	kind, begins string
	at           int
	then         string
}{
	{"image/png", "\x89PNG\r\n\x1a\n", 0, ""}, {"image/jpeg", "\xff\xd8\xff", 0, ""}, {"image/gif", "GIF8", 0, ""},
	{"image/webp", "RIFF", 8, "WEBP"}, {"image/bmp", "BM", 6, "\x00\x00\x00\x00"},
}

// sniff says what some bytes are: a picture by its first ones, else a text, "", where
// they can be one.
func sniff(data []byte) string {
	for _, p := range pictures {
		if bytes.HasPrefix(data, []byte(p.begins)) && bytes.HasPrefix(data[min(p.at, len(data)):], []byte(p.then)) {
			return p.kind
		}
	}
	if utf8.Valid(data) && !bytes.Contains(data, []byte{0}) {
		return ""
	}
	return "application/octet-stream"
}

// wlPaste does what wl-paste(1) does.
func wlPaste(args []string, s *streams) int {
	given, rest, err := getopt(args, wlPasteOptions)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unexpected argument: %s", rest[0])
	}
	if err != nil {
		fmt.Fprintf(s.err, "wl-paste: %v\n%s", err, wlPasteHelp)
		return 1
	}
	selection, kind, asked := Clipboard, "", false
	var list, bare bool
	for _, w := range given {
		switch w.name {
		case "help":
			fmt.Fprint(s.out, wlPasteHelp)
			return 0
		case "version":
			fmt.Fprint(s.out, "wl-clipboard: "+clipVersion)
			return 0
		case "watch":
			fmt.Fprintln(s.err, "wl-paste: the clipboard of a workspace cannot be watched")
			return 1
		case "primary":
			selection = Primary
		case "list-types":
			list = true
		case "no-newline":
			bare = true
		case "type":
			kind, asked = w.value, w.value != ""
		}
	}
	if err = pasteWayland(selection, kind, asked, list, bare, s); err == nil {
		return 0
	}
	switch {
	case isEmpty(err):
		fmt.Fprintln(s.err, "No selection")
	case isNoType(err):
		fmt.Fprintln(s.err, "No suitable type of content copied")
	default:
		fmt.Fprintf(s.err, "wl-paste: %v\n", err)
	}
	return 1
}

func pasteWayland(selection, kind string, asked, list, bare bool, s *streams) error {
	offered, err := s.clip.types(selection)
	if err != nil {
		return err
	}
	if list {
		_, err := fmt.Fprintln(s.out, strings.Join(offered, "\n"))
		return err
	}
	if !asked {
		kind = wanted(s.out, offered)
	} else if kind, err = suitable(kind, offered); err != nil {
		return err
	}
	if err := s.clip.paste(selection, kind, s.out); err != nil {
		return err
	}
	if !bare && (IsText(kind) || strings.HasPrefix(kind, "text/")) {
		_, err = io.WriteString(s.out, "\n")
	}
	return err
}

// wanted chooses a format where none was asked for: the one of the file that standard
// output is, a text, or the first there is.
func wanted(out io.Writer, offered []string) string {
	if f, ok := out.(*os.File); ok {
		name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		kind := map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp"}[strings.ToLower(path.Ext(name))]
		if slices.Contains(offered, kind) {
			return kind
		}
	}
	for _, kind := range offered {
		if IsText(kind) {
			return kind
		}
	}
	for _, kind := range offered {
		if strings.HasPrefix(kind, "text/") {
			return kind
		}
	}
	if len(offered) == 0 {
		return ""
	}
	return offered[0]
}

func suitable(kind string, offered []string) (string, error) {
	if slices.Contains(offered, kind) {
		return kind, nil
	}
	for _, one := range offered {
		if IsText(one) && (IsText(kind) || kind == "text") || kind == "text" && strings.HasPrefix(one, "text/") {
			return one, nil
		}
	}
	return "", &clipError{ClipNoType, "not offered as " + kind}
}
