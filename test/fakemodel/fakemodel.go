// Package fakemodel plays a language model on loopback. So real agent command line programs can
// be tested without a network and always do the same.
//
// A script is a list of turns. Each request of an agent's main loop (it carries
// tools) is answered with the next turn: a call of one of the agent's own
// tools, or a text, which ends its work. What the agent sends back as the
// tool's result is kept. Four protocols are spoken: Anthropic's Messages API
// (Claude Code), OpenAI's Responses API (Codex CLI), Google's GenerateContent
// (Gemini CLI) and Chat Completions (OpenCode), all as streams of server-sent
// events, and of all only what these programs need.
//
// It must not import any package of the program under test.
package fakemodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxRequest bounds one request in bytes; agents send their whole prompt.
const maxRequest = 16 << 20

// Turn is one answer of the model: a tool call when Tool is set, else Text.
type Turn struct {
	Tool  string         // name of the agent's tool
	Space string         // the namespace that it is in, for agents that have those
	Input map[string]any // its arguments
	Free  bool           // the tool takes a text, Input["input"] (Responses API)
	Text  string

	// Before is called before the answer is given: the tool of the turn before
	// has ended then, and the agent waits.
	Before func()
}

// Server is a running model.
type Server struct {
	URL string // http://127.0.0.1:PORT

	listener net.Listener
	server   *http.Server

	mu      sync.Mutex
	turns   []Turn
	next    int
	results []string
	keys    []string
	asked   []byte // all requests as they came
}

// Start serves a script on a free port of 127.0.0.1.
func Start(turns []Turn) (*Server, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the model: %w", err)
	}
	s := &Server{URL: "http://" + l.Addr().String(), listener: l, turns: turns}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"input_tokens":10}`)
	})
	mux.HandleFunc("POST /v1/responses", s.responses)
	mux.HandleFunc("POST /v1beta/models/{call}", s.generate)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// Close ends the server and its connections.
func (s *Server) Close() { _ = s.server.Close() }

// Results are what the agent's tools gave, in order.
func (s *Server) Results() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.results...)
}

// Keys are the credentials that came with the requests, each once.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.keys...)
}

// Heard says whether a text of plain letters was in a request: in a prompt, a
// description, a result of a tool.
func (s *Server) Heard(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Contains(s.asked, []byte(text))
}

// Finished says whether the whole script was played.
func (s *Server) Finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next >= len(s.turns)
}

// turn gives the next answer and its number; past the end of the script a text.
// Requests without tools (titles, summaries) get a short one and do not move the
// script. results are what tools have given: agents repeat the whole
// conversation in each request, so only what follows the answers so far is new.
func (s *Server) turn(tools []json.RawMessage, results []string) (Turn, int) {
	if len(tools) == 0 {
		return Turn{Text: "ok"}, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(results) > len(s.results) {
		s.results = results
	}
	if s.next >= len(s.turns) {
		return Turn{Text: "done"}, s.next
	}
	t := s.turns[s.next]
	s.next++
	n := s.next
	if t.Before != nil {
		s.mu.Unlock()
		t.Before()
		s.mu.Lock()
	}
	return t, n
}

func (s *Server) key(r *http.Request) {
	k := cmp.Or(r.Header.Get("x-api-key"), r.Header.Get("x-goog-api-key"))
	if k == "" {
		k = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, have := range s.keys {
		if have == k {
			return
		}
	}
	s.keys = append(s.keys, k)
}

// read decodes a request and notes its credential; false: it has been refused.
func (s *Server) read(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	s.key(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, body...)
	return true
}

// input is a turn's input as the text that most protocols want.
func (t *Turn) input() string {
	text, err := json.Marshal(t.Input)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// answer sends one JSON object.
func answer(w http.ResponseWriter, fields map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(fields)
}

// stream writes server-sent events.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w}
}

// event sends a named event, whose data repeats its name.
func (s stream) event(kind string, fields map[string]any) {
	fields["type"] = kind
	fmt.Fprintf(s.w, "event: %s\n", kind)
	s.data(fields)
}

// data sends an event without a name.
func (s stream) data(fields map[string]any) {
	data, err := json.Marshal(fields)
	if err != nil {
		return
	}
	s.line(string(data))
}

// end says that nothing follows, where a protocol wants that said.
func (s stream) end() { s.line("[DONE]") }

func (s stream) line(data string) {
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// text gives the text of a content field, which is a string or a list of parts.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		s += p.Text
	}
	return s
}
