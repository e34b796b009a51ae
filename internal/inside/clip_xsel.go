package inside

import (
	"bytes"
	"fmt"
	"os"
)

const xselHelp = `Usage: xsel [options]
Manipulate the X selection.

  -i, --input           read standard input into the selection
  -a, --append          append standard input to the selection
  -o, --output          write the selection to standard output
  -c, --clear           clear the selection
  -d, --delete          the same
  -p, --primary         operate on PRIMARY (default)
  -s, --secondary       operate on SECONDARY
  -b, --clipboard       operate on CLIPBOARD
  -x, --exchange        exchange PRIMARY and SECONDARY
  -h, --help, --version
This is ` + clipVersion

var xselOptions = []option{{"append", 'a', false}, {"follow", 'f', false}, {"zeroflush", 'z', false}, {"input", 'i', false}, {"output", 'o', false},
	{"clear", 'c', false}, {"delete", 'd', false}, {"primary", 'p', false}, {"secondary", 's', false}, {"clipboard", 'b', false}, {"keep", 'k', false}, {"exchange", 'x', false},
	{"display", 0, true}, {"name", 'm', true}, {"selectionTimeout", 't', true}, {"trim", 0, false}, {"logfile", 'l', true}, {"nodetach", 'n', false}, {"help", 'h', false}, {"version", 0, false}, {"verbose", 'v', false}}

// xsel does what xsel(1) does. An empty selection is no error to it.
func xsel(args []string, s *streams) int {
	given, rest, err := getopt(args, xselOptions)
	if err != nil || len(rest) > 0 {
		fmt.Fprint(s.out, xselHelp)
		return 0 // as the program has it
	}
	selection := Primary
	var in, out, add, drop, trim, exchange bool
	for _, w := range given {
		switch w.name {
		case "help":
			fmt.Fprint(s.out, xselHelp)
			return 0
		case "version":
			fmt.Fprint(s.out, "xsel: "+clipVersion)
			return 0
		case Primary, Secondary, Clipboard:
			selection = w.name
		case "input":
			in = true
		case "append", "follow":
			in, add = true, true
		case "output":
			out = true
		case "clear", "delete":
			drop = true
		case "exchange":
			exchange = true
		case "keep":
			return 0 // it is kept
		case "trim":
			trim = true
		}
	}
	switch {
	case exchange:
		err = xselExchange(s)
	case drop:
		err = s.clip.clear(selection)
	default:
		if !in && !out {
			in, out = !isTerminal(s.in), !isTerminal(s.out)
			if !in && !out {
				out = true
			}
		}
		err = xselMove(selection, in, out, add, trim, s)
	}
	if err != nil {
		fmt.Fprintf(s.err, "xsel: %v\n", err)
		return 1
	}
	return 0
}

// xselMove prints what is there, then puts something else there.
func xselMove(selection string, in, out, add, trim bool, s *streams) error {
	var now bytes.Buffer
	if out || add {
		if err := s.clip.paste(selection, "", &now); err != nil && !isEmpty(err) && !isNoType(err) {
			return err
		}
	}
	if out {
		text := now.Bytes()
		if trim {
			text = bytes.TrimSuffix(text, []byte("\n"))
		}
		if _, err := s.out.Write(text); err != nil {
			return err
		}
	}
	if !in {
		return nil
	}
	data, err := readAll(s.in)
	if err != nil {
		return err
	}
	if trim {
		data = bytes.TrimSuffix(data, []byte("\n"))
	}
	if add {
		data = append(now.Bytes(), data...)
	}
	return s.clip.copy(selection, "", data)
}

func xselExchange(s *streams) error {
	var both [2]bytes.Buffer
	names := [2]string{Primary, Secondary}
	for i, name := range names {
		if err := s.clip.paste(name, "", &both[i]); err != nil && !isEmpty(err) && !isNoType(err) {
			return err
		}
	}
	for i, name := range names {
		if err := s.clip.copy(name, "", both[1-i].Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// isTerminal says whether a stream is a terminal: a character device that is not the
// one that holds nothing.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(st, null)
}
