package agents

import "strings"

// syntax is how a wrapper reads its own command line before the command that
// it starts. Options are listed without dashes; one that is not listed ends
// recognition, because it may take a word as its value or change the command.
type syntax struct {
	flags    string   // short options without a value
	valued   string   // short options with a value, attached or in the next word
	long     []string // long options; "name=" takes a value
	operands int      // words before the command (the duration of timeout)
	digits   bool     // "-10" is an option (nice)
	builtin  bool     // a word of the shell, with no program behind it
}

// wrapperSyntax returns how a wrapper is read: GNU coreutils, util-linux, GNU
// time and the shell words "command" and "exec".
func wrapperSyntax(name string) (syntax, bool) {
	switch name {
	case "nice":
		return syntax{valued: "n", long: []string{"adjustment="}, digits: true}, true
	case "ionice":
		return syntax{flags: "t", valued: "cn", long: []string{"class=", "classdata=", "ignore"}}, true
	case "nohup":
		return syntax{}, true
	case "timeout":
		return syntax{flags: "vfp", valued: "ks", operands: 1,
			long: []string{"kill-after=", "signal=", "foreground", "preserve-status", "verbose"}}, true
	case "stdbuf":
		return syntax{valued: "ioe", long: []string{"input=", "output=", "error="}}, true
	case "time":
		return syntax{flags: "pvaq", valued: "fo", builtin: true,
			long: []string{"portability", "verbose", "append", "quiet", "format=", "output="}}, true
	case "setsid":
		return syntax{flags: "cfw", long: []string{"ctty", "fork", "wait"}}, true
	case "command":
		return syntax{builtin: true}, true
	case "exec":
		return syntax{flags: "cl", valued: "a", builtin: true}, true
	}
	return syntax{}, false
}

// wrapper steps over one wrapper and its options, and reports whether it did.
func (s *search) wrapper(name, word string) bool {
	if name == "env" {
		return s.known(word, false) && s.env()
	}
	syn, ok := wrapperSyntax(name)
	if !ok || !s.known(word, syn.builtin) {
		return false
	}
	pos, ok := syn.skip(s.argv, s.pos+1)
	if !ok {
		s.failed = true
		return false
	}
	s.via = append(s.via, name)
	s.pos = pos
	return true
}

// known checks that the wrapper itself lies outside the project. A shell word
// needs no program, but one that is there counts.
func (s *search) known(word string, builtin bool) bool {
	_, ok := s.resolve(word)
	if !ok && builtin && !strings.ContainsRune(word, '/') && !s.pathed {
		_, err := s.host.LookPath(word)
		ok = err != nil
	}
	s.failed = s.failed || !ok
	return ok
}

// skip returns the position of the command behind a wrapper's options.
func (syn syntax) skip(argv []string, pos int) (int, bool) {
	for pos < len(argv) {
		arg := argv[pos]
		if arg == "--" {
			pos++
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			break
		}
		used, ok := syn.option(arg)
		if !ok {
			return 0, false
		}
		pos += used
	}
	return pos + syn.operands, pos+syn.operands < len(argv)
}

// option returns how many words an option takes: itself, and perhaps a value.
func (syn syntax) option(arg string) (int, bool) {
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		return syn.longOption(name)
	}
	if syn.digits && strings.Trim(arg[1:], "+-0123456789") == "" {
		return 1, true
	}
	for i := 1; i < len(arg); i++ {
		switch {
		case strings.IndexByte(syn.flags, arg[i]) >= 0:
		case strings.IndexByte(syn.valued, arg[i]) >= 0:
			if i == len(arg)-1 {
				return 2, true
			}
			return 1, true
		default:
			return 0, false
		}
	}
	return 1, true
}

// longOption is option for the text behind two dashes.
func (syn syntax) longOption(text string) (int, bool) {
	name, _, attached := strings.Cut(text, "=")
	for _, long := range syn.long {
		takesValue := strings.HasSuffix(long, "=")
		if strings.TrimSuffix(long, "=") != name {
			continue
		}
		switch {
		case attached && !takesValue:
			return 0, false
		case takesValue && !attached:
			return 2, true
		}
		return 1, true
	}
	return 0, false
}

// envSyntax is GNU env without -S (another command line in one word) and -C
// (another directory).
func envSyntax() syntax {
	return syntax{flags: "i0v", valued: "u",
		long: []string{"ignore-environment", "unset=", "debug", "default-signal", "ignore-signal", "block-signal"}}
}

// env steps over env, its options and its assignments. An assignment to PATH,
// or a PATH taken away, changes where a bare name is found.
func (s *search) env() bool {
	syn := envSyntax()
	pos := s.pos + 1
	for ; pos < len(s.argv); pos++ {
		arg := s.argv[pos]
		name, _, isAssignment := strings.Cut(arg, "=")
		switch {
		case arg == "-" || arg == "--":
		case strings.HasPrefix(arg, "-"):
			used, ok := syn.option(arg)
			if !ok {
				s.failed = true
				return false
			}
			s.pathed = s.pathed || unsetsPath(s.argv, pos)
			pos += used - 1
		case isAssignment:
			s.pathed = s.pathed || changesProgram(name)
		default:
			s.via = append(s.via, "env")
			s.pos = pos
			return true
		}
	}
	s.failed = true
	return false
}

// unsetsPath reports whether the option at pos takes PATH out.
func unsetsPath(argv []string, pos int) bool {
	arg := argv[pos]
	if strings.HasSuffix(arg, "uPATH") || arg == "--unset=PATH" {
		return true
	}
	next := pos+1 < len(argv) && argv[pos+1] == "PATH"
	return next && (strings.HasSuffix(arg, "u") || arg == "--unset")
}

// changesProgram reports whether a variable decides which program a name
// stands for.
func changesProgram(name string) bool {
	return name == "PATH"
}
