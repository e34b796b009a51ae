package jsonapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"carrel/internal/api"

	"pgregory.net/rapid"
)

// TestParse: what is taken, and which error the rest gets.
func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"session.stop","request_id":"a"}`:                            "",
		`{"type":"session.stop","request_id":7,"payload":null}`:               "",
		` {"payload":{}, "request_id":"a","type":"x"} `:                       "",
		`{"type":"x","request_id":"a","payload":[]}`:                          CodeInvalid + " payload",
		`{"type":"x","request_id":"a","payload":"{}"}`:                        CodeInvalid + " payload",
		`{"type":"x","request_id":"a","more":1}`:                              CodeInvalid + " more",
		`{"Type":"x","request_id":"a"}`:                                       CodeMissing + " type",
		`{"type":"x"}`:                                                        CodeNoID + " request_id",
		`{"type":"x","request_id":null}`:                                      CodeNoID + " request_id",
		`{"type":"x","request_id":""}`:                                        CodeInvalid + " request_id",
		`{"type":"x","request_id":{}}`:                                        CodeInvalid + " request_id",
		`{"type":"x","request_id":"` + strings.Repeat("i", 300) + `"}`:        CodeInvalid + " request_id",
		`{"type":1,"request_id":"a"}`:                                         CodeInvalid + " type",
		`{"request_id":"a"}`:                                                  CodeMissing + " type",
		`[]`:                                                                  CodeMalformed + " ",
		`{"type":"x","type":"y","request_id":"a"}`:                            CodeMalformed + " ",
		`{"type":"x","request_id":"a"} {}`:                                    CodeMalformed + " ",
		`{"type":"x","request_id":"a"`:                                        CodeMalformed + " ",
		"{\"type\":\"x\xff\",\"request_id\":\"a\"}":                           CodeMalformed + " ",
		`{"type":"x","request_id":"a","payload":` + strings.Repeat("[", 5000): CodeMalformed + " ",
		`nonsense`: CodeMalformed + " ",
	} {
		_, p := parse([]byte(line))
		got := ""
		if p != nil {
			got = p.Code + " " + p.Field
		}
		if got != want {
			t.Errorf("%.80s: %q, want %q", line, got, want)
		}
	}
}

// TestDecode: which field is wrong is said, also of what is nested.
func TestDecode(t *testing.T) {
	for payload, want := range map[string]string{
		``: "", `{}`: "", `{"working_directories":[]}`: "", `{"working_directories":[{"path":"a"},{"path":"b","label":"c"}]}`: "",
		`{"working_directories":[{"label":"c"}]}`:              CodeMissing + " working_directories[0].path",
		`{"working_directories":[{"path":"a","Label":"c"}]}`:   CodeInvalid + " working_directories[0].Label",
		`{"working_directories":{"path":"a"}}`:                 CodeInvalid + " working_directories",
		`{"protocol_version":"1"}`:                             CodeInvalid + " protocol_version",
		`{"Vm_mode":"ephemeral"}`:                              CodeInvalid + " Vm_mode",
		`{"carrel.allow_hosts":["a"],"vm_mode":"ephemeral"}`:   "",
		`{"working_directories":[{"path":null}]}`:              CodeMissing + " working_directories[0].path",
		`{"working_directories":[{"path":"a","access":true}]}`: CodeInvalid + " working_directories.access",
	} {
		var in startIn
		p := decode(json.RawMessage(payload), find("session.start").In, &in)
		got := ""
		if p != nil {
			got = p.Code + " " + p.Field
		}
		if got != want {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}

// TestLines: lines are cut where they end, one that is too long costs no memory and takes
// none after it along, and one of just the bound is taken.
func TestLines(t *testing.T) {
	full := strings.Repeat("x", MaxLine-1) + "\n"
	long := io.LimitReader(endless{}, 64<<20)
	l := newLines(io.MultiReader(strings.NewReader("a\r\n\n"+full+"y"+full+"b\n"), long, strings.NewReader("\nc")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got []string
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case errors.Is(err, errOversized):
			got = append(got, "long")
		case len(line) == MaxLine-1:
			got = append(got, "full")
		default:
			got = append(got, string(line))
		}
	}
	runtime.ReadMemStats(&after)
	if want := "a  full long b long c"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32*MaxLine {
		t.Errorf("%d bytes were allocated for lines of %d", grown, MaxLine)
	}
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'z'
	}
	return len(b), nil
}

// TestPieces: however output is cut, what is told of it put together is what it was, and
// only what is not UTF-8 by itself is told as base64.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "whole")
		var out bytes.Buffer
		s := &Server{out: newWriter(&out)}
		piece, rest := &text{}, whole
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			piece.tell(s, "terminal_output", "c", &api.Output{Stream: "stdout", Data: rest[:n]})
			rest = rest[n:]
		}
		piece.rest(s, "terminal_output", "c", "stdout")
		if err := s.out.end(time.Minute); err != nil {
			t.Fatal(err)
		}
		var got []byte
		d := json.NewDecoder(&out)
		for d.More() {
			var e struct{ Payload output }
			if err := d.Decode(&e); err != nil {
				t.Fatal(err)
			}
			data := []byte(e.Payload.Data)
			if e.Payload.Encoding == "base64" {
				if err := json.Unmarshal([]byte(`"`+e.Payload.Data+`"`), &data); err != nil {
					t.Fatal(err)
				}
				if utf8.Valid(whole) {
					t.Errorf("%q is UTF-8, and a piece of it is told as base64", whole)
				}
			}
			got = append(got, data...)
		}
		if !bytes.Equal(got, whole) {
			t.Errorf("%q became %q", whole, got)
		}
	})
}

// FuzzParse: whatever comes is taken or refused, and what is taken has an id that goes
// back as it came.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"type":"session.start","request_id":"1","payload":{"working_directories":[{"path":"/x"}]}}`, `{"request_id":1e999,"type":"a"}`, `{"type":"\ud800","request_id":"x"}`, "", `{}`, `{"type":"undo.rollback","request_id":"1","payload":{"count":99999999999999999999,"directory":{}}}`} {
		f.Add([]byte(seed))
	}
	ops := Operations()
	f.Fuzz(func(t *testing.T, line []byte) {
		r, p := parse(line)
		if p != nil {
			return
		}
		if !json.Valid(r.id) || len(r.id) > maxID {
			t.Errorf("the id is %q", r.id)
		}
		for i := range ops {
			var in map[string]json.RawMessage
			if decode(r.payload, ops[i].In, &in) != nil {
				continue
			}
			for name := range in {
				if ops[i].In.Properties[name] == nil {
					t.Errorf("%s took %q", ops[i].Name, name)
				}
			}
		}
	})
}
