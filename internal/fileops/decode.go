package fileops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"carrel/internal/strictjson"
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
// the error is an *Error. None of its paths leaves the directory, by a link neither;
// "" is every directory. Searches are not held to it.
func Do(ctx context.Context, dir string, req Request) (any, error) {
	if err := req.check(); err != nil {
		return nil, of(req.op(), req.subject(), err, CodeRequest)
	}
	expandHome(req, os.Getenv("HOME"))
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
	if err := strictjson.Decode(data, &said); err != nil {
		return nil, fmt.Errorf("an answer to %s that is not understood: %w", req.op(), err)
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

// strict decodes one JSON object, of which every reader takes the same.
func strict(data []byte, most int, into any) error {
	if len(data) > most {
		return failed(CodeTooLarge, "", fmt.Sprintf("the request has more than %d bytes", most), "")
	}
	err := strictjson.LowerNames(data)
	if err == nil {
		err = strictjson.Decode(data, into)
	}
	if err != nil {
		return fmt.Errorf("the request is not understood: %w", err)
	}
	return nil
}
