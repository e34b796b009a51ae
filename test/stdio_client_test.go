//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// lineClient is the other end of `carrel stdio`. Each line that comes is held to the
// schema that the program prints.
type lineClient struct {
	w      *world
	cmd    *exec.Cmd
	in     io.WriteCloser
	said   *strings.Builder
	schema *jsonschema.Resolved
	lines  chan lineMessage
	kept   []lineMessage // events that nobody has asked for yet
	number int
	once   sync.Once
}

type lineMessage struct {
	Type    string
	ID      any `json:"request_id"`
	Status  string
	Payload map[string]any
	Error   struct {
		Code, Message, Field string
		Carrel               map[string]any
	}
}

// stdio starts the program, in a directory of its own choice.
func (w *world) stdio(args ...string) *lineClient {
	w.t.Helper()
	c := &lineClient{w: w, said: &strings.Builder{}, lines: make(chan lineMessage, 1<<16)}
	var whole jsonschema.Schema
	w.must(json.Unmarshal([]byte(w.plain(w.bin, "stdio", "--schema").out), &whole))
	var err error
	c.schema, err = (&jsonschema.Schema{Defs: whole.Defs, Ref: "#/$defs/line"}).Resolve(nil)
	w.must(err)
	c.cmd = w.command(w.bin, append([]string{"stdio"}, args...)...)
	c.in, err = c.cmd.StdinPipe()
	w.must(err)
	out, err := c.cmd.StdoutPipe()
	w.must(err)
	c.cmd.Stderr = c.said
	w.must(c.cmd.Start())
	go c.read(out)
	w.t.Cleanup(func() { c.close() })
	return c
}

func (c *lineClient) read(out io.Reader) {
	defer close(c.lines)
	from := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return
		}
		var any any
		var m lineMessage
		if err := json.Unmarshal(line, &any); err != nil {
			c.w.t.Errorf("no JSON: %.200q", line)
			return
		}
		if err := c.schema.Validate(any); err != nil {
			c.w.t.Errorf("not as the schema has it: %.400s: %v", line, err)
		}
		_ = json.Unmarshal(line, &m)
		c.lines <- m
	}
}

// next gives what comes next, and keeps events for whoever asks for them.
func (c *lineClient) next(wanted func(lineMessage) bool) lineMessage {
	c.w.t.Helper()
	for i, m := range c.kept {
		if wanted(m) {
			c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
			return m
		}
	}
	for late := time.After(patience); ; {
		select {
		case m, ok := <-c.lines:
			if !ok {
				c.w.t.Fatalf("it has ended: %s", c.said)
			}
			if wanted(m) {
				return m
			}
			c.kept = append(c.kept, m)
		case <-late:
			c.w.t.Fatalf("what was waited for did not come; there were %+v", c.kept)
		}
	}
}

func (c *lineClient) line(text string) {
	c.w.t.Helper()
	_, err := io.WriteString(c.in, text+"\n")
	c.w.must(err)
}

// send writes a request and gives its id.
func (c *lineClient) send(kind string, payload any) string {
	c.w.t.Helper()
	c.number++
	id := fmt.Sprint(c.number)
	text, err := json.Marshal(map[string]any{"type": kind, "request_id": id, "payload": payload})
	c.w.must(err)
	c.line(string(text))
	return id
}

// ask gives the response to a request.
func (c *lineClient) ask(kind string, payload any) lineMessage {
	c.w.t.Helper()
	id := c.send(kind, payload)
	return c.next(func(m lineMessage) bool { return m.Type == "response" && m.ID == id })
}

// do wants it to go well.
func (c *lineClient) do(kind string, payload any) map[string]any {
	c.w.t.Helper()
	m := c.ask(kind, payload)
	if m.Status != "ok" {
		c.w.t.Fatalf("%s %v: %+v", kind, payload, m.Error)
	}
	return m.Payload
}

// refused wants an error, "code field".
func (c *lineClient) refused(want, kind string, payload any) lineMessage {
	c.w.t.Helper()
	m := c.ask(kind, payload)
	if got := strings.TrimSpace(m.Error.Code + " " + m.Error.Field); got != want {
		c.w.t.Errorf("%s %v: %q (%s), want %q", kind, payload, got, m.Error.Message, want)
	}
	return m
}

func (c *lineClient) event(kind string) map[string]any {
	c.w.t.Helper()
	return c.next(func(m lineMessage) bool { return m.Type == "event."+kind }).Payload
}

// execute runs a command to its end.
func (c *lineClient) execute(command string) map[string]any {
	c.w.t.Helper()
	id := c.do("agent.execute", map[string]any{"command": command})["command_id"]
	return c.next(func(m lineMessage) bool { return m.Type == "event.step_completed" && m.Payload["command_id"] == id }).Payload
}

// close ends it by the end of its input.
func (c *lineClient) close() {
	c.once.Do(func() {
		c.in.Close()
		_ = c.cmd.Wait()
	})
}

// startIn is the payload of session.start for directories.
func startIn(dirs ...string) map[string]any {
	list := []any{}
	for _, d := range dirs {
		list = append(list, map[string]any{"path": d})
	}
	return map[string]any{"working_directories": list}
}
