package inside

import (
	"fmt"
	"strings"
)

// option is one that a program knows.
type option struct {
	long  string
	short byte // 0 for none
	takes bool // a value
}

// word is one that was given.
type word struct {
	name  string // the option's long name
	value string
}

// getopt reads arguments as getopt_long(3) does: short options together, long ones
// shortened as long as they stay clear, and mixed with what is no option, up to "--".
func getopt(args []string, known []option) (given []word, rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return given, append(rest, args...), nil
		case strings.HasPrefix(arg, "--"):
			name, value, has := strings.Cut(arg[2:], "=")
			o, ok := longOption(name, known)
			if !ok || has && !o.takes {
				return nil, nil, fmt.Errorf("unrecognized option '%s'", arg)
			}
			if o.takes && !has {
				if len(args) == 0 {
					return nil, nil, fmt.Errorf("option '--%s' requires an argument", o.long)
				}
				value, args = args[0], args[1:]
			}
			given = append(given, word{o.long, value})
		case len(arg) > 1 && arg[0] == '-':
			for letters := arg[1:]; letters != ""; {
				o, ok := shortOption(letters[0], known)
				if !ok {
					return nil, nil, fmt.Errorf("invalid option -- '%c'", letters[0])
				}
				value := ""
				if letters = letters[1:]; o.takes {
					if value, letters = letters, ""; value == "" {
						if len(args) == 0 {
							return nil, nil, fmt.Errorf("option requires an argument -- '%c'", o.short)
						}
						value, args = args[0], args[1:]
					}
				}
				given = append(given, word{o.long, value})
			}
		default:
			rest = append(rest, arg)
		}
	}
	return given, rest, nil
}

func shortOption(letter byte, known []option) (option, bool) {
	for _, o := range known {
		if o.short == letter {
			return o, true
		}
	}
	return option{}, false
}

func longOption(name string, known []option) (found option, ok bool) {
	n := 0
	for _, o := range known {
		if o.long == name {
			return o, true
		}
		if name != "" && strings.HasPrefix(o.long, name) {
			found = o
			n++
		}
	}
	return found, n == 1
}
