package jsonapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"

	"github.com/google/jsonschema-go/jsonschema"
)

// told is a response or an event, as a client reads it.
type told struct {
	Type    string
	ID      json.RawMessage `json:"request_id"`
	Status  string
	Payload json.RawMessage
	Error   *struct{ Code, Message, Field string }
}

// code is what a test compares: "ok", or the code of the error and the field.
func (m told) code() string {
	if m.Error == nil {
		return m.Status
	}
	return strings.TrimSpace(m.Error.Code + " " + m.Error.Field)
}

func readAll(t *testing.T, from io.Reader) (all []told) {
	t.Helper()
	for d := json.NewDecoder(from); d.More(); {
		var m told
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// served gives what a server without a session answers to lines.
func served(t *testing.T, o Options, lines ...string) []told {
	t.Helper()
	o.Log = io.Discard
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Serve(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out, nil); err != nil {
		t.Fatal(err)
	}
	return readAll(t, &out)
}

// sample is a payload with a value for each field that has to be there.
func sample(s *jsonschema.Schema) map[string]any {
	out := map[string]any{}
	for _, name := range s.Required {
		switch kindOf(s.Properties[name]) {
		case "integer", "number", "integer or string":
			out[name] = 1
		case "boolean":
			out[name] = true
		default:
			out[name] = "x"
		}
	}
	return out
}

// TestEachRequestWithoutSession: whatever needs a session says so, and nothing else happens;
// what needs none is answered.
func TestEachRequestWithoutSession(t *testing.T) {
	free := map[string]string{"session.status": "ok", "undo.configure": CodeRefused, "safeguard.configure": "ok",
		"session.start": CodeMissing + " working_directories"}
	for _, o := range Operations() {
		payload, err := json.Marshal(sample(o.In))
		if err != nil {
			t.Fatal(err)
		}
		got := served(t, Options{}, fmt.Sprintf(`{"type":%q,"request_id":"a","payload":%s}`, o.Name, payload))
		want := free[o.Name]
		if want == "" {
			want = CodeInvalid + " session"
		}
		if len(got) != 1 || got[0].code() != want {
			t.Errorf("%s %s: %+v, want %s", o.Name, payload, got, want)
		}
	}
}

// TestEachRequestIsStrict: a field that is not known, one that is missing and one of another
// type are refused by their names, in every request.
func TestEachRequestIsStrict(t *testing.T) {
	ask := func(name string, payload map[string]any) told {
		t.Helper()
		text, err := json.Marshal(map[string]any{"type": name, "request_id": 1, "payload": payload})
		if err != nil {
			t.Fatal(err)
		}
		got := served(t, Options{}, string(text))
		if len(got) != 1 {
			t.Fatalf("%s: %+v", text, got)
		}
		return got[0]
	}
	for _, o := range Operations() {
		p := sample(o.In)
		p["surprise"] = 1
		if got := ask(o.Name, p).code(); got != CodeInvalid+" surprise" {
			t.Errorf("%s with what it does not know: %s", o.Name, got)
		}
		for _, name := range o.In.Required {
			p := sample(o.In)
			delete(p, name)
			if got := ask(o.Name, p).code(); got != CodeMissing+" "+name {
				t.Errorf("%s without %s: %s", o.Name, name, got)
			}
		}
		for name, s := range o.In.Properties {
			if s.Type == "object" || s.Type == "array" {
				continue // of the wrong kind below
			}
			p := sample(o.In)
			p[name] = []any{map[string]any{}}
			if got := ask(o.Name, p); got.Error == nil || got.Error.Code != CodeInvalid {
				t.Errorf("%s with a list for %s: %+v", o.Name, name, got)
			}
		}
	}
}

// TestAnswersKeepOrderAndIds: what is in order is answered in order, each with its id as it
// was written, and a line that is none takes no other along.
func TestAnswersKeepOrderAndIds(t *testing.T) {
	got := served(t, Options{},
		`{"type":"safeguard.configure","request_id":"\u0061"}`, ``, `nonsense`, `{"type":"nothing","request_id":1.50}`,
		`{"type":"session.stop","request_id":-0}`,
		`{"type":"safeguard.configure","request_id":1e2,"payload":{"delete_threshold":0}}`, `{"type":"safeguard.configure"}`,
		`{"type":"undo.discard","request_id":"a"}`)
	var in, all []string
	for _, m := range got {
		if all = append(all, string(m.ID)+" "+m.code()); m.Error == nil || m.Error.Code != CodeMalformed &&
			m.Error.Code != CodeOperation && m.Error.Code != CodeNoID {
			in = append(in, string(m.ID)+" "+m.code())
		}
	}
	want := []string{`"\u0061" ok`, "-0 " + CodeInvalid + " session", "1e2 " + CodeInvalid + " delete_threshold",
		`"a" ` + CodeInvalid + " session"}
	if strings.Join(in, "; ") != strings.Join(want, "; ") {
		t.Errorf("in order: %q, want %q", in, want)
	}
	for _, one := range []string{"null " + CodeMalformed, "1.50 " + CodeOperation + " type", "null " + CodeNoID + " request_id"} {
		if !strings.Contains(strings.Join(all, ";"), one) {
			t.Errorf("%q lacks %q", all, one)
		}
	}
}

// TestStartIsCheckedFirst: what session.start cannot do is said before anything begins.
func TestStartIsCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	for payload, want := range map[string]string{
		`{"protocol_version":2}`:                                                           CodeVersion + " protocol_version",
		`{"protocol_version":0}`:                                                           CodeVersion + " protocol_version",
		`{"vm_mode":"forever"}`:                                                            CodeInvalid + " vm_mode",
		`{"network_policy":"all"}`:                                                         CodeInvalid + " network_policy",
		`{"working_directories":[]}`:                                                       CodeMissing + " working_directories",
		`{"working_directories":[{"path":""}]}`:                                            CodeInvalid + " working_directories[0].path",
		`{"working_directories":[{"path":"DIR\u0000"}]}`:                                   CodeInvalid + " working_directories[0].path",
		`{"working_directories":[{"path":"DIR/none"}]}`:                                    CodeInvalid + " working_directories[0].path",
		`{"working_directories":[{"path":"/dev/null"}]}`:                                   CodeInvalid + " working_directories[0].path",
		`{"working_directories":[{"path":"DIR","access":"all"}]}`:                          CodeInvalid + " working_directories[0].access",
		`{"working_directories":[{"path":"/usr"},{"path":"/usr/bin"}]}`:                    CodeInvalid + " working_directories[1].path",
		`{"working_directories":[{"path":"/usr/bin"},{"path":"/usr"}]}`:                    CodeInvalid + " working_directories[1].path",
		`{"working_directories":[{"path":"DIR","label":"a"},{"path":"/usr","label":"a"}]}`: CodeInvalid + " working_directories[1].label",
		`{"working_directories":[{"path":"/var"}]}`:                                        CodeInvalid + " working_directories[0].path",
		// around the history
		`{"working_directories":[{"path":"/var/lib"}]}`: CodeInvalid + " working_directories[0].path", // in it
	} {
		o := Options{}
		if strings.Contains(payload, "/var") {
			o.UndoDir = "/var/lib"
			if strings.Contains(payload, "/lib") {
				o.UndoDir = "/var"
			}
		}
		got := served(t, o, `{"type":"session.start","request_id":1,"payload":`+strings.ReplaceAll(payload, "DIR", dir)+`}`)
		if len(got) != 1 || got[0].code() != want {
			t.Errorf("%s: %+v, want %s", payload, got, want)
		}
	}
	many := strings.TrimSuffix(strings.Repeat(`{"path":"/usr"},`, maxDirectories+1), ",")
	if got := served(t, Options{},
		`{"type":"session.start","request_id":1,"payload":{"working_directories":[`+many+`]}}`); got[0].code() != CodeInvalid+" working_directories" {
		t.Errorf("%d directories: %+v", maxDirectories+1, got)
	}
}

// TestLimitsAreChecked: numbers that mean nothing are refused by the name of the field, and
// those at the bounds are taken.
func TestLimitsAreChecked(t *testing.T) {
	for request, want := range map[string]string{
		`safeguard.configure {"delete_threshold":-1}`:             CodeInvalid + " delete_threshold",
		`safeguard.configure {"overwrite_file_size_threshold":0}`: CodeInvalid + " overwrite_file_size_threshold",
		`safeguard.configure {"timeout_seconds":0}`:               CodeInvalid + " timeout_seconds",
		`safeguard.configure {"timeout_seconds":3600.1}`:          CodeInvalid + " timeout_seconds",
		`safeguard.configure {"timeout_seconds":3600}`:            "ok",
		`safeguard.configure {"timeout_seconds":0.001}`:           "ok",
		`safeguard.configure {"delete_threshold":1}`:              "ok",
		`undo.configure {"max_step_count":-1}`:                    CodeInvalid + " max_step_count",
		`undo.configure {"max_log_size_bytes":-1}`:                CodeInvalid + " max_log_size_bytes",
		`undo.configure {"max_single_step_size_bytes":0}`:         "ok",
		`undo.configure {"max_step_count":9223372036854775808}`:   CodeInvalid + " max_step_count",
		`safeguard.configure {"delete_threshold":1.5}`:            CodeInvalid + " delete_threshold",
		`safeguard.configure {"rename_over_existing":"true"}`:     CodeInvalid + " rename_over_existing",
	} {
		name, payload, _ := strings.Cut(request, " ")
		got := served(t, Options{UndoDir: "/u"}, fmt.Sprintf(`{"type":%q,"request_id":1,"payload":%s}`, name, payload))
		if len(got) != 1 || got[0].code() != want {
			t.Errorf("%s: %+v, want %s", request, got, want)
		}
	}
}

// TestSafeguardsReplaceEachOther: what is not given is off, and the time is rounded up.
func TestSafeguardsReplaceEachOther(t *testing.T) {
	s, err := New(Options{Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	c := &call{Server: s}
	number := func(n int64) *int64 { return &n }
	seconds := 1.0001
	for _, one := range []struct {
		in   safeguardsIn
		want api.Terms
	}{
		{safeguardsIn{Deletes: number(3), Replaces: true, Timeout: &seconds}, api.Terms{Deletes: 3, Replaces: true, Within: 1001}},
		{safeguardsIn{Overwrites: number(9)}, api.Terms{Overwrites: 9}},
		{safeguardsIn{}, api.Terms{}},
	} {
		if _, err := configureSafeguards(t.Context(), c, one.in); err != nil {
			t.Fatal(err)
		}
		if w := s.wants; w.terms != one.want || !w.setAny {
			t.Errorf("%+v became %+v, want %+v", one.in, w.terms, one.want)
		}
	}
}

// TestProblems: what a response says of an error is decided by the error's kind, however it
// is wrapped.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{missing("a"), CodeMissing + " a"},
		{fmt.Errorf("x: %w", invalid("b", "y")), CodeInvalid + " b"},
		{&api.Denial{Code: "control", Message: "no"}, CodeRefused + " "},
		{fmt.Errorf("x: %w", &api.Denial{Code: "policy", Message: "no"}), CodeRefused + " "},
		{&api.Denial{Code: op.CodeFailed, Message: "no", Hint: "do"}, CodeIO + " "},
		{errors.Join(errors.New("x"), &Problem{Code: CodeBusy}), CodeBusy + " "},
		{io.ErrUnexpectedEOF, CodeIO + " "},
	} {
		p := problemOf(c.err)
		if got := p.Code + " " + p.Field; got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
		if (p.Carrel != nil) != (p.Code == CodeRefused) {
			t.Errorf("%v: the refusal is %+v", c.err, p.Carrel)
		}
	}
	if got := problemOf(&api.Denial{Code: op.CodeFailed, Message: "no", Hint: "do"}).Message; got != "no; do" {
		t.Errorf("%q", got)
	}
	if got := problemOf(&api.Denial{Code: op.CodeFailed, Message: "no"}).Message; got != "no" {
		t.Errorf("%q", got)
	}
}

// TestEveryCodeIsListed: the manual's table has each code once.
func TestEveryCodeIsListed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range codes {
		if seen[c.code] || c.about == "" {
			t.Errorf("%s stands twice, or says nothing", c.code)
		}
		seen[c.code] = true
	}
	for _, code := range []string{CodeMalformed, CodeOperation, CodeMissing, CodeInvalid, CodeOversized, CodeVersion, CodeOutside,
		CodeNoID, CodeIO, CodeRefused, CodeConflict, CodeBusy} {
		if !seen[code] {
			t.Errorf("%s is not listed", code)
		}
	}
}

// TestFaultEndsOneRequest: a request that goes wrong is answered, and the next one as well.
func TestFaultEndsOneRequest(t *testing.T) {
	s, err := New(Options{Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	s.ops["session.stop"].run = func(context.Context, *call, json.RawMessage) (any, error) { panic("oops") }
	var out bytes.Buffer
	if err := s.Serve(t.Context(),
		strings.NewReader(`{"type":"session.stop","request_id":1}`+"\n"+`{"type":"session.status","request_id":2}`), &out, nil); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, &out)
	if len(got) != 2 || got[0].code() != CodeIO || got[1].code() != "ok" {
		t.Errorf("%+v", got)
	}
}

// TestTooManyRequests: those that wait are bounded, and what is urgent passes those that wait.
func TestTooManyRequests(t *testing.T) {
	s, err := New(Options{Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	block, entered := make(chan struct{}), make(chan struct{}, 1)
	s.ops["session.stop"].run = func(context.Context, *call, json.RawMessage) (any, error) {
		entered <- struct{}{}
		<-block
		return nothing{}, nil
	}
	s.ops["undo.discard"].run = func(context.Context, *call, json.RawMessage) (any, error) { return nothing{}, nil }
	in, feed := io.Pipe()
	out, to := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Serve(t.Context(), in, to, nil); to.Close() }()
	fmt.Fprintln(feed, `{"type":"session.stop","request_id":"blocks"}`)
	<-entered
	go func() {
		for i := range maxQueued + 1 {
			fmt.Fprintf(feed, `{"type":"undo.discard","request_id":%d}`+"\n", i)
		}
		fmt.Fprintln(feed, `{"type":"carrel.approvals","request_id":"urgent"}`)
		feed.Close()
	}()
	busy, passed, count := 0, false, 0
	d := json.NewDecoder(out)
	for d.More() {
		var m told
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		count++
		switch {
		case m.code() == CodeBusy:
			busy++
		case string(m.ID) == `"urgent"`:
			passed = count <= 2
			close(block)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if busy != 1 || !passed || count != maxQueued+3 {
		t.Errorf("%d were refused, the urgent one passed: %v, of %d answers", busy, passed, count)
	}
}

// TestClientThatDoesNotRead: what waits for it is bounded, output is left out before that, and
// it is given up.
func TestClientThatDoesNotRead(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	w := newWriter(writeFunc(func(b []byte) (int, error) { <-hang; return len(b), nil }))
	line := strings.Repeat("x", 1<<20)
	for range maxOutput >> 20 {
		w.line(line)
	}
	if w.room() {
		t.Error("there is room for output")
	}
	select {
	case <-w.dead:
		t.Error("it was given up too early")
	default:
	}
	for range maxWaiting >> 20 {
		w.line(line)
	}
	select {
	case <-w.dead:
	default:
		t.Error("it was not given up")
	}
	if err := w.end(time.Millisecond); !errors.Is(err, errNotRead) {
		t.Errorf("%v", err)
	}
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(b []byte) (int, error) { return f(b) }

// TestWhatCannotBeEncoded: a value that JSON has no form for is said to be one, in a line.
func TestWhatCannotBeEncoded(t *testing.T) {
	for _, v := range []any{func() {}, map[string]any{"a": make(chan int)}} {
		var e event
		if err := json.Unmarshal(encoded(v), &e); err != nil || e.Type != "event.error" {
			t.Errorf("%T: %s", v, encoded(v))
		}
	}
	if got := string(encoded("<&>")); got != "\"<&>\"\n" {
		t.Errorf("%s", got)
	}
}

// TestControlOfRequests: which requests a paused or read-only workspace refuses.
func TestControlOfRequests(t *testing.T) {
	var refused []string
	for _, o := range Operations() {
		if o.control.RefusedIn() != nil {
			refused = append(refused, o.Name)
		}
	}
	const want = "session.start session.reset undo.rollback undo.configure undo.discard " +
		"agent.execute agent.prompt safeguard.configure carrel.cancel carrel.redo carrel.write carrel.edit"
	if got := strings.Join(refused, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
