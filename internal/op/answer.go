package op

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/ceilings"
)

// CodeFailed is the code of what is no refusal, but went wrong.
const CodeFailed = "failed"

// ForProgram is an error as a program is told of it: a refusal as it is, and anything else as one
// that has no more to say than its text. nil stays nil.
func ForProgram(err error) error {
	if err == nil {
		return nil
	}
	return Denial(err)
}

// Denial is ForProgram for an error that is not nil.
func Denial(err error) *api.Denial {
	if d := ceilings.Denial("start", err); d != nil {
		return d
	}
	message, hint, _ := strings.Cut(err.Error(), "\nhint: ")
	return &api.Denial{Code: CodeFailed, Message: message, Hint: hint}
}

// CodeArguments is the code of a refusal of what was asked for with a call.
const CodeArguments = "arguments"

// NoZeroBytes refuses words with a zero byte: no path and no name has one.
func NoZeroBytes(operation string, words ...string) error {
	if !slices.ContainsFunc(words, func(w string) bool { return strings.ContainsRune(w, 0) }) {
		return nil
	}
	return &api.Denial{Code: CodeArguments, Operation: operation, Message: "an argument has a zero byte", Rule: "parameters", Source: "built in"}
}

// MaxAnswer bounds an answer to a program, in bytes of JSON.
const MaxAnswer = 4 << 20

// Into puts an answer into the form that a surface has for it, and refuses one that is
// larger than MaxAnswer. Fields that the surface does not know are left out.
func Into(operation string, answer, out any) error {
	text, err := json.Marshal(answer)
	if err == nil && len(text) > MaxAnswer {
		return fmt.Errorf("carrel %s gave more than %d bytes", operation, MaxAnswer)
	}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return fmt.Errorf("carrel %s: %w", operation, err)
	}
	return nil
}

// A Fault is a panic of an operation. It ends the operation and nothing else.
type Fault struct {
	Value any
	Stack []byte
}

func (f *Fault) Error() string { return fmt.Sprintf("it went wrong: %v", f.Value) }

// Call does an operation for a program that may stop waiting for it. The operation then goes
// on to its end, so that nothing is left half done, and its answer is dropped.
func Call[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = &Fault{p, debug.Stack()}
			}
			done <- a
		}()
		a.value, a.err = do()
		a.err = ForProgram(a.err)
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case a := <-done:
		return a.value, a.err
	}
}
