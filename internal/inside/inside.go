// Package inside is what our own binary does when a program inside the walls starts it by the
// name of a helper: xdg-open, open, a browser, or notify-send. The programs that copy and paste
// are helpers, too (xclip, xsel, wl-copy and wl-paste), and those that play sounds (afplay,
// paplay and their like). For git and gh one stands for a credential of the person outside. It
// asks the supervisor over the workspace's socket and tells the truth in its exit status.
//
// It runs as untrusted as any command inside: whatever it sends, the supervisor
// checks. It imports nothing of this module, so that it starts fast.
package inside

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path"
	"slices"
	"time"
)

// Socket is where the supervisor listens, as seen inside.
const Socket = "/run/carrel/api.sock"

// Dir is the directory of the helpers inside; it comes first on PATH.
const Dir = "/run/carrel/bin"

// MaxRequest bounds one request line in bytes.
const MaxRequest = 16 << 10

// Operations of a request.
const (
	OpOpen      = "open"       // a link
	OpStepBegin = "step-begin" // a step of the history begins here
	OpStepEnd   = "step-end"   // and ends here
	OpStepNote  = "step-note"  // neither: the agent says how it stands
	OpStop      = "stop"       // the workspace, one that stays
	OpControl   = "control"    // of it: only less
	OpClipTypes = "clip-types" // the formats in which something was copied
	OpClipPaste = "clip-paste" // what was copied; it follows the reply
	OpClipCopy  = "clip-copy"  // it follows the request
	OpSound     = "sound"      // one of Sounds
	OpNotify    = "notify"     // text for the person outside

	OpCredential = "credential" // user and password, for git: its description follows the request, the answer the reply
	OpToken      = "token"      // of a host, for gh: it follows the reply
	OpTask       = "task"       // something about tasks for others; it follows the request, the answer the reply

	OpSign = "sign" // a commit or tag, by gpg: it follows the request, the signature the reply
)

// Bounds of what is asked about tasks, and of the answer, in bytes.
const (
	MaxTask       = 256 << 10
	maxTaskAnswer = 16 << 20
)

// Exit statuses of the link helpers, as xdg-open(1) has them.
const (
	exitOpened = 0
	exitSyntax = 1
	exitFailed = 4
)

// answerDeadline is longer than the supervisor's own.
const answerDeadline = 15 * time.Second

// Request is one line to the supervisor.
type Request struct {
	Operation string   `json:"operation"`
	URL       string   `json:"url,omitempty"`
	Step      Mark     `json:"step,omitzero"`
	Mode      string   `json:"mode,omitempty"` // of control: read_only or paused
	Clip      Clip     `json:"clip,omitzero"`
	Sound     string   `json:"sound,omitempty"`
	Note      Note     `json:"note,omitzero"`
	Host      string   `json:"host,omitempty"`    // of token; "" for the usual one
	Remotes   []string `json:"remotes,omitempty"` // of token without a host: those that may be meant
	Size      int64    `json:"size,omitempty"`    // of credential and sign: that many bytes follow
}

// Reply is its answer.
type Reply struct {
	OK      bool   `json:"ok"`
	Message string `json:"message"`

	Code  string   `json:"code,omitempty"`  // clip-paste, clip-types: one of the Clip constants
	Types []string `json:"types,omitempty"` // clip-types
	Size  int64    `json:"size,omitempty"`  // clip-paste, credential, token, sign: that many bytes follow
	ID    uint32   `json:"id,omitempty"`    // notify: its number

	Host   string `json:"host,omitempty"`   // token: whose
	Status string `json:"status,omitempty"` // sign: what gpg says of it for programs
}

// FileHelper is the name of the helper that carries out a file tool's request; see
// package fileops.
const FileHelper = "carrel-file"

var linkHelpers = []string{"xdg-open", "open", "x-www-browser", "www-browser", "sensible-browser", "gnome-open", "kde-open", "exo-open", "wslview"}

// LinkHelpers are the names under which programs look for a way to open a link.
func LinkHelpers() []string { return slices.Clone(linkHelpers) }

// SoundHelpers are the names of the programs that play sounds.
func SoundHelpers() []string { return slices.Sorted(maps.Keys(players)) }

// NoteHelpers are the names of the programs that show notifications.
func NoteHelpers() []string { return []string{noteHelper} }

// IsHelper says whether argv[0] is one of the helpers' names.
func IsHelper(argv0 string) bool {
	name := path.Base(argv0)
	_, plays := players[name]
	return slices.Contains(linkHelpers, name) || clipHelpers[name] != nil || keyHelpers[name] != nil || plays || name == noteHelper
}

// Main runs the helper that argv[0] names, with this process's standard streams, and
// returns its exit status.
func Main(argv []string) int {
	name, s := path.Base(argv[0]), &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, clip: overSocket{}, ask: ask}
	if run := clipHelpers[name]; run != nil {
		return run(argv[1:], s)
	}
	if run := keyHelpers[name]; run != nil {
		return run(argv[1:])
	}
	return builtIn(name, argv, s)
}

// IsBuiltIn says whether a name is that of a helper that asks for nothing but a sound, a
// notification or a link.
func IsBuiltIn(name string) bool {
	return IsHelper(name) && clipHelpers[name] == nil && keyHelpers[name] == nil
}

// BuiltIn is such a helper for somebody who can answer what it asks: it writes to out and
// errOut, and gives its exit status.
func BuiltIn(argv []string, out, errOut io.Writer, ask func(Request) (Reply, error)) int {
	return builtIn(argv[0], argv, &streams{out: out, err: errOut, ask: ask})
}

func builtIn(name string, argv []string, s *streams) int {
	if _, plays := players[name]; plays {
		return soundHelper(name, argv[1:], s)
	}
	if name == noteHelper {
		return notifySend(argv[1:], s)
	}
	return openLink(argv[1:], s)
}

// openLink gives 0 when the link was opened, 1 for a wrong call, 4 when it was not.
func openLink(args []string, s *streams) int {
	if len(args) != 1 {
		fmt.Fprintln(s.err, "carrel: one link, please: xdg-open https://example.com/")
		return exitSyntax
	}
	reply, err := s.ask(Request{Operation: OpOpen, URL: args[0]})
	if err != nil {
		fmt.Fprintf(s.err, "carrel: link not opened: %v\n", err)
		return exitFailed
	}
	if !reply.OK {
		fmt.Fprintf(s.err, "carrel: link not opened: %s\n", reply.Message)
		return exitFailed
	}
	return exitOpened
}

// Mark says of a step what its caller knows.
type Mark struct {
	Label string `json:"label,omitempty"` // what it is, where one begins
	ID    string `json:"id,omitempty"`    // joins an end to its beginning
	All   bool   `json:"all,omitempty"`   // ends whatever is open
	State string `json:"state,omitempty"` // how the agent stands: working, waiting or done; "" where that is not said
}

// Step marks the beginning or the end of a step of the history, or says how the agent stands: op
// is one of OpStepBegin, OpStepEnd and OpStepNote.
func Step(op string, m Mark) error { return tell(Request{Operation: op, Step: m}) }

// Task asks outside about tasks for other agents, and gives the answer: both are JSON, which
// package taskop knows. It waits as long as it takes.
func Task(call []byte) ([]byte, error) {
	if len(call) > MaxTask {
		return nil, fmt.Errorf("the request has %d bytes, at most %d are taken", len(call), MaxTask)
	}
	conn, err := net.Dial("unix", Socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	line, err := json.Marshal(Request{Operation: OpTask, Size: int64(len(call))})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(append(line, '\n'), call...)); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	line, err = in.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the workspace has ended, or hung up: %w", err)
	}
	var reply Reply
	switch err := json.Unmarshal(line, &reply); {
	case err != nil:
		return nil, err
	case !reply.OK:
		return nil, errors.New(reply.Message)
	case reply.Size < 0 || reply.Size > maxTaskAnswer:
		return nil, fmt.Errorf("the answer has %d bytes", reply.Size)
	}
	answer := make([]byte, reply.Size)
	_, err = io.ReadFull(in, answer)
	return answer, err
}

// Stop ends the workspace that this process is in, which is one that stays.
func Stop() error { return tell(Request{Operation: OpStop}) }

// Control takes from what may be done with the workspace that this process is in.
func Control(mode string) error { return tell(Request{Operation: OpControl, Mode: mode}) }

func tell(req Request) error {
	reply, err := ask(req)
	if err == nil && !reply.OK {
		err = errors.New(reply.Message)
	}
	return err
}

func ask(req Request) (Reply, error) {
	var reply Reply
	conn, err := net.Dial("unix", Socket)
	if err != nil {
		return reply, fmt.Errorf("reaching the supervisor: %w", err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answerDeadline))
	line, err := json.Marshal(req)
	if err != nil || len(line) >= MaxRequest {
		return reply, fmt.Errorf("the request is longer than %d bytes", MaxRequest)
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return reply, fmt.Errorf("asking the supervisor: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(conn, MaxRequest)).Decode(&reply); err != nil {
		return reply, fmt.Errorf("hearing the supervisor: %w", err)
	}
	return reply, nil
}
