package fileops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Request is one of the requests of this package.
type Request interface {
	op() string
	subject() Path
	answer() any
	check() error
	do(context.Context, *place) (any, error)
}

// Ops are the names of all operations.
func Ops() []string { return []string{OpRead, OpWrite, OpEdit, OpList, OpGlob, OpGrep} }

// Changes says whether an operation may change files.
func Changes(op string) bool { return op == OpWrite || op == OpEdit }

// Known says whether there is such an operation.
func Known(op string) bool { return newRequest(op) != nil }

// OpOf is the name of a request's operation.
func OpOf(req Request) string { return req.op() }

// SubjectOf is what a request is about, for people: a path or a pattern.
func SubjectOf(req Request) Path { return req.subject() }

// Decode reads a request: one JSON object with no field that is not known, none
// twice, and no text that JSON readers could take in two ways. The error is an *Error.
func Decode(op string, data []byte) (Request, error) {
	req := newRequest(op)
	if req == nil {
		return nil, &Error{Code: CodeRequest, Operation: shorten(op, 40), Message: fmt.Sprintf("there is no operation %.40q", op), Hint: strings.Join(Ops(), ", ")}
	}
	err := strict(data, MaxRequest, req)
	if err == nil {
		err = req.check()
	}
	if err != nil {
		return nil, of(op, "", err, CodeRequest)
	}
	return req, nil
}

// Do carries a request out. The answer is a pointer to the operation's answer type;
// the error is an *Error.
func Do(ctx context.Context, req Request) (any, error) { return DoBeneath(ctx, "", req) }

// DoBeneath is Do for a request none of whose paths may leave a directory, by a link
// neither; "" is Do. Searches are not held to it.
func DoBeneath(ctx context.Context, dir string, req Request) (any, error) {
	if err := req.check(); err != nil {
		return nil, of(req.op(), req.subject(), err, CodeRequest)
	}
	at, err := beneath(dir)
	if err != nil {
		return nil, of(req.op(), Path(dir), err, CodeIO)
	}
	defer at.close()
	answer, err := req.do(ctx, at)
	if err != nil {
		return nil, of(req.op(), req.subject(), err, CodeIO)
	}
	return answer, nil
}

// Encode writes a request as Decode reads it.
func Encode(req Request) ([]byte, error) { return encode(req) }

// encode writes JSON on one line; <, > and & stay what they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// DecodeAnswer reads what [Main] has written for a request. A told error is an *Error;
// any other means that the answer is none.
func DecodeAnswer(req Request, data []byte) (any, error) {
	said := reply{Answer: req.answer()}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil {
		return nil, fmt.Errorf("an answer to %s that is not understood: %w", req.op(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("an answer to %s with more behind it", req.op())
	}
	if said.Error != nil {
		return nil, said.Error
	}
	return said.Answer, nil
}

// reply is what the helper writes.
type reply struct {
	Answer any    `json:"answer,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

func newRequest(op string) Request {
	switch op {
	case OpRead:
		return &ReadFile{}
	case OpWrite:
		return &WriteFile{}
	case OpEdit:
		return &EditFile{}
	case OpList:
		return &ListDirectory{}
	case OpGlob:
		return &Glob{}
	case OpGrep:
		return &Grep{}
	}
	return nil
}

// of makes an Error of any, with its operation.
func of(op string, subject Path, err error, code string) *Error {
	var e *Error
	if !errors.As(err, &e) {
		if e = told(subject, err); e.Code == CodeIO {
			e = failed(code, subject, err.Error(), "")
		}
	}
	e.Operation = op
	return e
}

func shorten(s string, most int) string { return s[:min(len(s), most)] }

// strict decodes one JSON object. encoding/json is lenient where that does harm: it
// takes the last of two values, names in any case, and U+FFFD for what is no text.
func strict(data []byte, most int, into any) error {
	if len(data) > most {
		return failed(CodeTooLarge, "", fmt.Sprintf("the request has more than %d bytes", most), "")
	}
	if !utf8.Valid(data) {
		return errors.New("the request is not UTF-8")
	}
	if halfSurrogate(data) {
		return errors.New(`the request has half a surrogate pair (\ud800 to \udfff), which is no text`)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the request is not understood: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("the request is more than one value")
	}
	return names(data)
}

// names looks at the names of an object and of what is in it, valid JSON by now.
func names(data []byte) error {
	type level struct {
		object bool
		names  []string
		value  bool // what comes next is one
	}
	var stack []level
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if n := len(stack); n > 0 && stack[n-1].object && !stack[n-1].value {
			if name, ok := t.(string); ok {
				at := &stack[n-1]
				if slices.Contains(at.names, name) {
					return fmt.Errorf("the request has %.40q twice", name)
				}
				if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
					return fmt.Errorf("the request has %.40q: names are in small letters", name)
				}
				at.names, at.value = append(at.names, name), true
				continue
			}
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if len(stack) == 0 && t == json.Delim('[') || len(stack) > 16 {
				return errors.New("the request is no object")
			}
			stack = append(stack, level{object: t == json.Delim('{')})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 && t != json.Delim('}') {
			return errors.New("the request is no object")
		}
		if len(stack) > 0 {
			stack[len(stack)-1].value = false
		}
	}
}

// halfSurrogate says whether an escape in valid or invalid JSON is one.
func halfSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit, ok := escaped(data[i:])
		switch {
		case !ok:
			i++ // some other escape
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			if low, ok := escaped(data[i+6:]); !ok || low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 11
		default:
			i += 5
		}
	}
	return false
}

// escaped reads \uXXXX at the beginning of data.
func escaped(data []byte) (unit uint16, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	for _, c := range data[2:6] {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		unit = unit<<4 | uint16(digit)
	}
	return unit, true
}
