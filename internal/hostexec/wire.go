package hostexec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"carrel/internal/strictjson"
)

// Places inside.
const (
	Socket  = "/run/carrel/host.sock"
	ShimDir = "/run/carrel/shims" // first in PATH; a name for each command
)

// Bounds of the protocol.
const (
	Version  = 1
	MaxLine  = 1 << 20  // bytes, with the newline
	MaxChunk = 64 << 10 // bytes of one Stdin or Output
	TokenLen = 64       // hexadecimal digits
	maxWords = 32 << 10 // arguments and variables of one request
)

// Types of a request.
const (
	TypeHello        = "Hello"
	TypeExec         = "Exec"
	TypeStdin        = "Stdin"
	TypeSignal       = "Signal"
	TypeResize       = "Resize"
	TypeCancel       = "Cancel"
	TypeHeartbeat    = "Heartbeat"
	TypeSetStatus    = "SetStatus"
	TypeSetTitle     = "SetTitle"
	TypeSpawnAgent   = "SpawnAgent"
	TypeMerge        = "Merge"
	TypeClose        = "Close"
	TypeClipboard    = "ClipboardRead"
	StdioFrames      = "frames" // Stdin and Output carry what is read and written
	StdioPassed      = "passed" // by three descriptors that come with the line
	StreamStdout     = "stdout"
	StreamStderr     = "stderr"
	TypeStarted      = "Started"
	TypeOutput       = "Output"
	TypeExit         = "Exit"
	TypeOk           = "Ok"
	TypeError        = "Error"
	typeExecOutput   = "ExecOutput"
	typeExecError    = "ExecError"
	typeExecExit     = "ExecExit"
	CodeRequest      = "request"
	CodeUnknown      = "unknown-command"
	CodeUnauthorised = "unauthorised"
	CodeBusy         = "busy"
	CodeUnsupported  = "unsupported"
)

// Bytes is text that need not be UTF-8: a JSON string, or {"base64": "..."}.
type Bytes string

// MarshalJSON implements [json.Marshaler].
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(b)) {
		return json.Marshal(string(b))
	}
	return json.Marshal(encoded{[]byte(b)})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *Bytes) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var e encoded
		err := strictjson.Single(text, &e)
		*b = Bytes(e.Base64)
		return err
	}
	return json.Unmarshal(text, (*string)(b))
}

type encoded struct {
	Base64 []byte `json:"base64"`
}

// ID is the JSON text of an id, a whole number or a string; "" for none.
type ID string

// maxID bounds an id, in bytes of its JSON text.
const maxID = 256

// MarshalJSON implements [json.Marshaler].
func (i ID) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(i, "null")), nil }

// UnmarshalJSON implements [json.Unmarshaler]. Two texts of the same id become one.
func (i *ID) UnmarshalJSON(text []byte) error {
	var name string
	var number uint64
	switch {
	case len(text) > maxID:
		return fmt.Errorf("the id has %d bytes, %d at most", len(text), maxID)
	case string(text) == "null":
	case json.Unmarshal(text, &number) == nil:
		*i = ID(strconv.FormatUint(number, 10))
	case json.Unmarshal(text, &name) == nil:
		text, err := json.Marshal(name)
		*i = ID(text)
		return err
	default:
		return errors.New("the id is neither a whole number nor a string")
	}
	return nil
}

// Size is that of a terminal.
type Size struct {
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
}

// Request is one line of a client.
type Request struct {
	Type string `json:"type"`
	ID   ID     `json:"id,omitempty"` // the client's name for what it asks, and in all answers

	Version int    `json:"version,omitempty"` // Hello
	Token   string `json:"token,omitempty"`   // Hello, where it came over TCP

	Command string           `json:"command,omitempty"` // Exec
	Args    []Bytes          `json:"args,omitempty"`
	Cwd     Bytes            `json:"cwd,omitempty"` // absolute; "" is the project
	Env     map[string]Bytes `json:"env,omitempty"`
	Stdio   string           `json:"stdio,omitempty"` // "" is StdioFrames
	TTY     *Size            `json:"tty,omitempty"`

	Data   []byte `json:"data,omitempty"` // Stdin
	EOF    bool   `json:"eof,omitempty"`
	Signal string `json:"signal,omitempty"` // INT, TERM, ...
	Size   *Size  `json:"size,omitempty"`   // Resize

	Status string `json:"status,omitempty"` // SetStatus
	Title  string `json:"title,omitempty"`

	Task
}

// Task is what SpawnAgent, Merge and Close say of a task. What a guest of workmux may say beside it
// changes nothing here: hooks never run, and nothing is merged that is in no commit.
type Task struct {
	Prompt string `json:"prompt,omitempty"`      // SpawnAgent
	Branch string `json:"branch_name,omitempty"` // SpawnAgent; "" for one that the prompt suggests
	Name   string `json:"name,omitempty"`        // Merge, Close
	Into   string `json:"into,omitempty"`        // Merge
	Rebase bool   `json:"rebase,omitempty"`
	Squash bool   `json:"squash,omitempty"`
	Keep   bool   `json:"keep,omitempty"`

	Background    bool `json:"background,omitempty"`
	Uncommitted   bool `json:"ignore_uncommitted,omitempty"`
	Cleanup       bool `json:"cleanup,omitempty"`
	NoVerify      bool `json:"no_verify,omitempty"`
	NoHooks       bool `json:"no_hooks,omitempty"`
	Notifications bool `json:"notification,omitempty"`
}

// Reply is one line to a client.
type Reply struct {
	Type string `json:"type"`
	ID   ID     `json:"id,omitempty"`

	Version  int      `json:"version,omitempty"`  // Hello
	Features []string `json:"features,omitempty"` // Hello
	Commands []string `json:"commands,omitempty"` // Hello

	Stream string `json:"stream,omitempty"` // Output
	Data   []byte `json:"data,omitempty"`

	Code   int    `json:"code"`             // Exit; 128 and the signal where one ended it
	Signal string `json:"signal,omitempty"` // Exit

	Error *Problem `json:"error,omitempty"`
}

// Problem is why something was not done. Its fields are those of every refusal of carrel.
type Problem struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Operation string `json:"operation,omitempty"`
	Subject   string `json:"subject,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Source    string `json:"source,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Exit      int    `json:"exit,omitempty"` // the status that a shim ends with: 125, 126 or 127
}

// Error implements [error].
func (p *Problem) Error() string { return p.Message }

// decode reads a line of our own dialect. With an error the request has the id, where
// there is one.
func decode(line []byte) (*Request, error) {
	var r Request
	if err := strictjson.Single(line, &r); err != nil {
		var parts struct {
			ID ID `json:"id"`
		}
		_ = json.NewDecoder(bytes.NewReader(line)).Decode(&parts) // of what is JSON at all
		return &Request{ID: parts.ID}, fmt.Errorf("the line is not understood: %w", err)
	}
	if n := len(r.Args) + len(r.Env); n > maxWords {
		return &Request{ID: r.ID}, fmt.Errorf("%d arguments and variables, %d at most", n, maxWords)
	}
	if len(r.Data) > MaxChunk {
		return &r, fmt.Errorf("%d bytes of data in one line, %d at most", len(r.Data), MaxChunk)
	}
	return &r, nil
}
