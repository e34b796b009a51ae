package inside

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

const clipVersion = "carrel's own, for the clipboard of a workspace\n"

const xclipHelp = `Usage: xclip [OPTION] [FILE]...
Access an X server selection for reading or writing.

  -i, -in          read text into X selection from standard input or files
                   (default)
  -o, -out         prints the selection to standard out
  -f, -filter      text piped in is also piped out unmodified
  -selection NAME  clipboard, primary (default) or secondary
  -t, -target TYPE the format; TARGETS lists what there is
  -rmlastnl        remove the last newline
  -version, -help
This is ` + clipVersion

// xclipOptions are those of xclip(1), which the X resource manager reads: one dash, and
// any beginning that stays clear.
var xclipOptions = []option{{long: "loops", takes: true}, {long: "display", takes: true}, {long: "selection", takes: true}, {long: "filter"}, {long: "in"}, {long: "out"},
	{long: "version"}, {long: "help"}, {long: "silent"}, {long: "quiet"}, {long: "verbose"}, {long: "noutf8"}, {long: "target", takes: true}, {long: "rmlastnl"}, {long: "sensitive"}}

// xclip does what xclip(1) does; what it copies stays with the supervisor, so that it
// never waits for others to paste.
func xclip(args []string, s *streams) int {
	selection, target := Primary, ""
	var out, filter, trim bool
	var files []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		o, ok := option{}, false
		if len(arg) > 1 && arg[0] == '-' {
			o, ok = longOption(arg[1:], xclipOptions)
		}
		value := ""
		switch {
		case !ok || o.takes && len(args) == 0:
			if arg != "-t" && arg != "-target" { // without a value the program goes on without
				files = append(files, arg)
			}
			continue
		case o.takes:
			value, args = args[0], args[1:]
		}
		switch o.long {
		case "version":
			fmt.Fprint(s.err, "xclip: "+clipVersion)
			return 0
		case "help":
			fmt.Fprint(s.err, xclipHelp)
			return 0
		case "selection":
			selection = xclipSelection(value)
		case "target":
			target = value
		case "out":
			out = true
		case "in":
			out = false
		case "filter":
			filter = true
		case "rmlastnl":
			trim = true
		}
	}
	if out {
		return xclipOut(selection, target, trim, s)
	}
	data, err := xclipIn(files, s)
	if err != nil {
		fmt.Fprintf(s.err, "xclip: %v\n", err)
		return 1
	}
	if trim {
		data = bytes.TrimSuffix(data, []byte("\n"))
	}
	if err := s.clip.copy(selection, target, data); err != nil {
		fmt.Fprintf(s.err, "xclip: %v\n", err)
		return 1
	}
	if filter {
		_, _ = s.out.Write(data)
	}
	return 0
}

// xclipSelection goes by the first letter, as the program does.
func xclipSelection(name string) string {
	switch strings.ToLower(name[:min(len(name), 1)]) {
	case "c":
		return Clipboard
	case "s":
		return Secondary
	}
	return Primary
}

func xclipOut(selection, target string, trim bool, s *streams) int {
	failed := func(err error) int {
		if isEmpty(err) || isNoType(err) {
			if target == "" {
				target = "STRING"
			}
			fmt.Fprintf(s.err, "Error: target %s not available\n", target)
		} else {
			fmt.Fprintf(s.err, "xclip: %v\n", err)
		}
		return 1
	}
	if target == "TARGETS" {
		list, err := s.clip.types(selection)
		if err != nil {
			return failed(err)
		}
		fmt.Fprintln(s.out, strings.Join(append([]string{"TARGETS"}, list...), "\n"))
		return 0
	}
	var data bytes.Buffer
	if err := s.clip.paste(selection, target, &data); err != nil {
		return failed(err)
	}
	b := data.Bytes()
	if trim {
		b = bytes.TrimSuffix(b, []byte("\n"))
	}
	if _, err := s.out.Write(b); err != nil {
		fmt.Fprintf(s.err, "xclip: %v\n", err)
		return 1
	}
	return 0
}

// xclipIn reads files one after the other, or standard input.
func xclipIn(files []string, s *streams) ([]byte, error) {
	if len(files) == 0 {
		return readAll(s.in)
	}
	var readers []io.Reader
	for _, name := range files {
		if name == "-" {
			readers = append(readers, s.in)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: No such file or directory", name)
		}
		defer f.Close()
		readers = append(readers, f)
	}
	return readAll(io.MultiReader(readers...))
}
