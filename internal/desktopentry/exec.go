package desktopentry

import (
	"errors"
	"fmt"
	"strings"
)

// reserved characters have to be quoted.
const reserved = "\n\"'\\><~|&;$*?#()`"

// split takes Exec apart, of which unescape has read the backslashes that are of
// no concern to it. The field codes are looked at here and replaced by Argv.
func split(v string) ([]string, error) {
	if strings.IndexByte(v, 0) >= 0 {
		return nil, errors.New("contains a NUL")
	}
	var args []string
	taking := "" // the code that takes files
	for {
		v = strings.TrimLeft(v, " \t")
		if v == "" {
			break
		}
		next := unquoted
		if v[0] == '"' {
			next = quoted
		}
		arg, rest, err := next(v)
		if err == nil {
			err = codes(arg, v[0] == '"', &taking)
		}
		if err != nil {
			return nil, err
		}
		args, v = append(args, arg), rest
	}
	if len(args) == 0 {
		return nil, errors.New("names no program")
	}
	return args, nil
}

func unquoted(v string) (arg, rest string, err error) {
	arg = v
	if end := strings.IndexAny(v, " \t"); end >= 0 {
		arg, rest = v[:end], v[end:]
	}
	if i := strings.IndexAny(arg, reserved); i >= 0 {
		return "", "", fmt.Errorf("%.60q: an argument with %q has to be in double quotes as a whole", arg, arg[i:i+1])
	}
	return arg, rest, nil
}

func quoted(v string) (arg, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(v); i++ {
		switch c := v[i]; c {
		case '"':
			if rest = v[i+1:]; rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				return "", "", fmt.Errorf("%.60q: want a space after the quoted argument", v[:i+2])
			}
			return b.String(), rest, nil
		case '`', '$':
			return "", "", fmt.Errorf(`%.60q: within quotes %c is written \\%c`, v, c, c)
		case '\\':
			i++
			if i == len(v) || strings.IndexByte("\"`$\\", v[i]) < 0 {
				return "", "", fmt.Errorf(`%.60q: within quotes a backslash stands only before ", %s, $ and \`, v, "`")
			}
			b.WriteByte(v[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("%.60q: the quotes are not closed", v)
}

const (
	known      = "fFuUick"
	deprecated = "dDnNvm"
)

// codes checks an argument's field codes. The specification allows one that
// takes files in all of Exec, and leaves open what one in quotes means.
func codes(arg string, quoted bool, taking *string) error {
	for i := 0; i < len(arg); i++ {
		if arg[i] != '%' {
			continue
		}
		i++
		code := arg[i-1 : min(i+1, len(arg))]
		switch {
		case code == "%%":
		case code == "%" || !strings.Contains(known+deprecated, code[1:]):
			return fmt.Errorf("%.60q: %q is no field code; a percent sign is written %%%%", arg, code)
		case quoted:
			return fmt.Errorf("%.60q: the field code %s may not be in quotes", arg, code)
		case strings.Contains("FUi", code[1:]) && arg != code:
			return fmt.Errorf("%.60q: %s has to be an argument of its own", arg, code)
		case strings.Contains("fFuU", code[1:]):
			if *taking != "" {
				return fmt.Errorf("%s and %s: only one may take files", *taking, code)
			}
			*taking = code
		}
	}
	return nil
}

// Argv is the program and its arguments, with files in the place of the field
// code that takes them. They are paths or URLs; one that begins with a hyphen
// gets "./" before it, so that it is no option. It fails for files that the entry
// takes none of, or fewer than given.
func (e *Entry) Argv(files []string) ([]string, error) {
	if len(e.Exec) == 0 {
		return nil, errors.New("the entry names no program")
	}
	given := make([]string, len(files))
	for i, f := range files {
		if f == "" || strings.IndexByte(f, 0) >= 0 {
			return nil, fmt.Errorf("file %d, %.60q: want a path or a URL", i+1, f)
		}
		if f[0] == '-' {
			f = "./" + f
		}
		given[i] = f
	}
	x := expander{entry: e, files: given}
	for _, arg := range e.Exec {
		if err := x.add(arg); err != nil {
			return nil, err
		}
	}
	if len(files) > x.takes {
		return nil, fmt.Errorf("%.60q takes %s, %d given", e.Name, map[int]string{0: "no files", 1: "one file"}[x.takes], len(files))
	}
	return x.argv, nil
}

type expander struct {
	entry *Entry
	files []string
	takes int // how many files the codes so far can take
	argv  []string
}

// add expands an argument into none, one or several. An argument that was only
// a code for which there is nothing is left out, but for those of names.
func (x *expander) add(arg string) error {
	switch arg {
	case "%F", "%U":
		x.takes = len(x.files)
		x.argv = append(x.argv, x.files...)
		return nil
	case "%i":
		if x.entry.Icon != "" {
			x.argv = append(x.argv, "--icon", x.entry.Icon)
		}
		return nil
	}
	var b strings.Builder
	kept := arg == ""
	for rest := arg; rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		b.WriteString(before)
		kept = kept || before != ""
		if !found {
			break
		}
		if after == "" {
			return fmt.Errorf("%.60q: %q is no field code", arg, "%")
		}
		text, there, err := x.code(after[0])
		if err != nil {
			return fmt.Errorf("%.60q: %w", arg, err)
		}
		b.WriteString(text)
		kept = kept || there
		rest = after[1:]
	}
	if kept {
		x.argv = append(x.argv, b.String())
	}
	return nil
}

// code is what stands within an argument for a code's letter, and whether the
// argument is one because of it.
func (x *expander) code(c byte) (text string, there bool, err error) {
	switch {
	case c == '%':
		return "%", true, nil
	case c == 'f' || c == 'u':
		x.takes = max(x.takes, 1)
		if len(x.files) == 0 {
			return "", false, nil
		}
		return x.files[0], true, nil
	case c == 'c':
		return x.entry.Name, true, nil
	case c == 'k':
		return x.entry.File, true, nil
	case strings.IndexByte(deprecated, c) >= 0:
		return "", false, nil
	}
	return "", false, fmt.Errorf("%q is no field code", "%"+string(rune(c)))
}
