package fileops

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

func (*ReadFile) op() string      { return OpRead }
func (*WriteFile) op() string     { return OpWrite }
func (*EditFile) op() string      { return OpEdit }
func (*ListDirectory) op() string { return OpList }
func (*Glob) op() string          { return OpGlob }
func (*Grep) op() string          { return OpGrep }

func (r *ReadFile) subject() Path      { return r.Path }
func (r *WriteFile) subject() Path     { return r.Path }
func (r *EditFile) subject() Path      { return r.Path }
func (r *ListDirectory) subject() Path { return r.Path }
func (r *Glob) subject() Path          { return r.Pattern }
func (r *Grep) subject() Path          { return Path(r.Pattern) }

func (*ReadFile) answer() any      { return &FileContent{} }
func (*WriteFile) answer() any     { return &Written{} }
func (*EditFile) answer() any      { return &Edited{} }
func (*ListDirectory) answer() any { return &Listing{} }
func (*Glob) answer() any          { return &Found{} }
func (*Grep) answer() any          { return &Matches{} }

func (r *ReadFile) check() error {
	switch {
	case r.Offset < 0 || r.Limit < 0 || r.ByteOffset < 0:
		return errors.New("offset, limit and byte_offset cannot be less than 0")
	case r.ByteOffset > 0 && (r.Offset > 0 || r.Limit > 0):
		return errors.New("byte_offset counts bytes, offset and limit lines: give one of them")
	case r.MaxBytes < 0 || r.MaxBytes > MaxRead:
		return fmt.Errorf("max_bytes is at most %d", MaxRead)
	}
	return r.Path.check()
}

func (r *WriteFile) check() error {
	if r.Encoding != "" && r.Encoding != UTF8 && r.Encoding != Base64 {
		return fmt.Errorf("there is no encoding %.20q: %s or %s", r.Encoding, UTF8, Base64)
	}
	if _, err := parseMode(r.Mode); err != nil {
		return err
	}
	if err := checkSum(r.Expect, Absent); err != nil {
		return err
	}
	if _, err := r.bytes(); err != nil {
		return err
	}
	return r.Path.check()
}

func (r *EditFile) check() error {
	list := r.list()
	switch {
	case len(list) == 0:
		return errors.New("nothing is to be edited: give old_string and new_string, or edits")
	case len(r.Edits) > 0 && r.Edit != Edit{}:
		return errors.New("give either old_string and new_string, or edits")
	case len(list) > maxEdits:
		return fmt.Errorf("these are %d edits; %d go into one call", len(list), maxEdits)
	}
	for i, e := range list {
		switch {
		case e.Old == "":
			return fmt.Errorf("edit %d: old_string is empty; write_file makes a file", i+1)
		case e.Old == e.New:
			return fmt.Errorf("edit %d: old_string and new_string are the same", i+1)
		}
	}
	if err := checkSum(r.Expect, ""); err != nil {
		return err
	}
	return r.Path.check()
}

func (r *ListDirectory) check() error {
	if r.Path == "" {
		r.Path = "."
	}
	if err := checkPage(r.Limit, r.Offset); err != nil {
		return err
	}
	return r.Path.check()
}

func (r *Glob) check() error {
	if err := checkGlob(r.Pattern); err != nil {
		return err
	}
	if err := checkPage(r.Limit, r.Offset); err != nil {
		return err
	}
	return r.Where.check()
}

func (r *Grep) check() error {
	if _, err := r.compile(); err != nil {
		return err
	}
	if len(r.Include) > maxGlobs || len(r.Exclude) > maxGlobs {
		return fmt.Errorf("include and exclude take %d globs each", maxGlobs)
	}
	for _, list := range [][]Path{r.Include, r.Exclude} {
		for _, g := range list {
			if err := checkGlob(g); err != nil {
				return err
			}
		}
	}
	switch {
	case r.OutputMode != "" && r.OutputMode != ModeFiles && r.OutputMode != ModeContent && r.OutputMode != ModeCount:
		return fmt.Errorf("there is no output_mode %.40q: %s, %s or %s", r.OutputMode, ModeFiles, ModeContent, ModeCount)
	case min(r.Context, r.Before, r.After) < 0 || max(r.Context, r.Before, r.After) > maxContext:
		return fmt.Errorf("context, before and after are 0 to %d lines", maxContext)
	case r.Limit < 0 || r.Limit > maxMatches:
		return fmt.Errorf("limit is 1 to %d", maxMatches)
	}
	return r.Where.check()
}

func (w *Where) check() error {
	if len(w.Roots) > maxRoots {
		return fmt.Errorf("at most %d roots are searched at once", maxRoots)
	}
	for _, p := range append([]Path{w.Path}, w.Roots...) {
		if p == "" {
			continue
		}
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

// dirs are the places to search.
func (w *Where) dirs() []Path {
	switch {
	case len(w.Roots) == 0 && w.Path == "":
		return []Path{"."}
	case len(w.Roots) == 0 || filepath.IsAbs(string(w.Path)):
		return []Path{w.Path}
	}
	var out []Path
	for _, root := range w.Roots {
		if w.Path != "" {
			root = Path(filepath.Join(string(root), string(w.Path)))
		}
		out = append(out, root)
	}
	return out
}

// gitignored says whether what Git ignores is left out.
func (w *Where) gitignored() bool { return w.Gitignore == nil || *w.Gitignore }

func (p Path) check() error {
	switch {
	case p == "":
		return failed(CodeRequest, p, "no path is given", "")
	case strings.ContainsRune(string(p), 0):
		return failed(CodeRequest, p, "a path cannot have a zero byte", "")
	case len(p) >= maxPathSize:
		return failed(CodeRequest, p, fmt.Sprintf("the path has %d bytes, more than %d", len(p), maxPathSize-1), "")
	}
	return nil
}

func checkPage(limit, offset int) error {
	if limit < 0 || limit > maxList || offset < 0 {
		return fmt.Errorf("limit is 1 to %d, offset 0 or more", maxList)
	}
	return nil
}

// checkSum takes a SHA-256 in hexadecimal, "" and one word more.
func checkSum(sum, word string) error {
	if sum == "" || sum == word || len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == "" {
		return nil
	}
	return fmt.Errorf("expect is %.80q: want the SHA-256 of the content that is there, 64 digits in small letters", sum)
}

// parseMode reads a mode as chmod(1) takes it in digits; without, ok is false in the
// form of -1. A file tool makes no set-user-id programs.
func parseMode(text string) (int, error) {
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseUint(text, 8, 16)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("mode is %.20q: want three octal digits, such as 644", text)
	}
	return int(n), nil
}

// checkGlob refuses what is no pattern of paths below a root. Braces in braces could
// make the matching take for ever.
func checkGlob(g Path) error {
	bad := func(why string) error {
		return failed(CodePattern, g, fmt.Sprintf("%q is no pattern: %s", g.short(), why), "for example **/*.go, src/*.{js,ts}")
	}
	switch {
	case g == "":
		return bad("it is empty")
	case len(g) > maxPattern || strings.Count(string(g), "{") > 8 || strings.Count(string(g), "**") > 8:
		return bad(fmt.Sprintf("it has more than %d bytes, 8 braces or 8 times **", maxPattern))
	case strings.ContainsRune(string(g), 0) || !doublestar.ValidatePattern(string(g)):
		return bad("a bracket, a brace or a backslash stands alone")
	}
	for part := range strings.SplitSeq(strings.NewReplacer("{", "/", "}", "/", ",", "/", `\`, "").Replace(string(g)), "/") {
		if part == ".." {
			return bad("it leads out of the directory that is searched; give that with path")
		}
	}
	return nil
}

// compile makes the regular expression of a grep.
func (r *Grep) compile() (*regexp.Regexp, error) {
	bad := func(why string) error {
		return failed(CodePattern, Path(r.Pattern), fmt.Sprintf("%.200q is no regular expression: %s", r.Pattern, why), "RE2 syntax: no backreferences, no lookaround; \\( for a bracket")
	}
	if r.Pattern == "" || len(r.Pattern) > maxPattern || !utf8.ValidString(r.Pattern) {
		return nil, bad(fmt.Sprintf("want 1 to %d bytes of text", maxPattern))
	}
	flags := ""
	if r.CaseInsensitive {
		flags += "i"
	}
	if r.Multiline {
		flags += "ms"
	}
	text := r.Pattern
	if flags != "" {
		text = "(?" + flags + ")" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, bad(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}
