package inside

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Note is a notification for the person outside. It is text: no markup, no buttons, no
// pictures.
type Note struct {
	Title     string `json:"title"`
	Body      string `json:"body,omitempty"`
	Low       bool   `json:"low,omitempty"`       // of little urgency
	Expires   int    `json:"expires,omitempty"`   // milliseconds; 0: as the desktop has it
	Transient bool   `json:"transient,omitempty"` // not kept
	Replaces  uint32 `json:"replaces,omitempty"`  // number of an earlier one; 0 for none
}

// MaxNote bounds the title and the body of a notification, in bytes each.
const MaxNote = 1 << 10

// noteHelper is the program that shows notifications.
const noteHelper = "notify-send"

const noteHelp = `Usage: notify-send [OPTION...] <SUMMARY> [BODY]

  -u, --urgency=LEVEL       low, normal or critical, which shows as normal
  -t, --expire-time=TIME    milliseconds until it goes
  -e, --transient           not kept by the desktop
  -p, --print-id            print its number
  -r, --replace-id=ID       in place of an earlier one of this workspace
  -a, -c, -h, -i, -n        accepted, and not shown
  -?, --help, -v, --version
This is carrel's own: the person outside sees it under the workspace's name.
`

var noteOptions = []option{{"urgency", 'u', true}, {"expire-time", 't', true}, {"app-name", 'a', true}, {"icon", 'i', true}, {"app-icon", 'n', true}, {"category", 'c', true}, {"transient", 'e', false},
	{"hint", 'h', true}, {"print-id", 'p', false}, {"replace-id", 'r', true}, {"wait", 'w', false}, {"action", 'A', true}, {"selected-action-fd", 0, true}, {"id-fd", 0, true}, {"activation-token-fd", 0, true},
	{"help", '?', false}, {"version", 'v', false}}

// notifySend does what notify-send(1) does, as far as text goes.
func notifySend(args []string, s *streams) int {
	note, print, info, err := noteArguments(args)
	if info != "" {
		fmt.Fprint(s.out, info)
		return 0
	}
	var reply Reply
	if err == nil {
		reply, err = s.ask(Request{Operation: OpNotify, Note: note})
	}
	if err == nil && !reply.OK {
		err = errors.New(reply.Message)
	}
	if err != nil {
		fmt.Fprintf(s.err, "notify-send: %v\n", err)
		return 1
	}
	if print {
		fmt.Fprintln(s.out, reply.ID)
	}
	return 0
}

// noteArguments reads what is to be shown, or gives something to print.
func noteArguments(args []string) (n Note, print bool, info string, err error) {
	given, rest, err := getopt(args, noteOptions)
	if err != nil {
		return n, false, "", err
	}
	for _, w := range given {
		switch w.name {
		case "help":
			return n, false, noteHelp, nil
		case "version":
			return n, false, "notify-send: carrel's own\n", nil
		case "wait", "action", "selected-action-fd", "activation-token-fd", "id-fd":
			return n, false, "", fmt.Errorf("--%s is not done: a notification of a workspace is text, and nothing of what becomes of it is told", w.name)
		case "urgency":
			if w.value != "low" && w.value != "normal" && w.value != "critical" {
				return n, false, "", fmt.Errorf("unknown urgency %.40q specified; known urgency levels: low, normal, critical", w.value)
			}
			n.Low = w.value == "low"
		case "expire-time":
			ms, err := strconv.ParseInt(w.value, 10, 32)
			if err != nil {
				return n, false, "", fmt.Errorf("cannot parse integer value %.40q for -t", w.value)
			}
			n.Expires = int(max(ms, 0))
		case "transient":
			n.Transient = true
		case "print-id":
			print = true
		case "replace-id":
			id, err := strconv.ParseUint(w.value, 10, 32)
			if err != nil {
				return n, false, "", fmt.Errorf("cannot parse integer value %.40q for -r", w.value)
			}
			n.Replaces = uint32(id)
		}
	}
	switch {
	case len(rest) == 0 || rest[0] == "":
		return n, false, "", errors.New("no summary specified")
	case len(rest) > 2:
		return n, false, "", errors.New("invalid number of options")
	case len(rest) == 2:
		n.Body = shorten(strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(rest[1]))
	}
	n.Title = shorten(rest[0])
	return n, print, "", nil
}

// shorten gives a text that may be sent: UTF-8, and not too long.
func shorten(s string) string {
	const dots = "…"
	s = strings.ToValidUTF8(s[:min(len(s), 2*MaxNote)], "\uFFFD")
	if len(s) <= MaxNote {
		return s
	}
	end := MaxNote - len(dots)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + dots
}
