package op

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestForProgram: a refusal stays as it is, and any other error keeps its text and its hint.
func TestForProgram(t *testing.T) {
	refused := &api.Denial{Code: api.CodeControl, Message: "paused", Hint: "resume it"}
	for _, tt := range []struct {
		err  error
		want api.Denial
	}{
		{fmt.Errorf("asking: %w", refused), *refused},
		{errors.New("opening it: no such file\nhint: make it"), api.Denial{Code: CodeFailed, Message: "opening it: no such file", Hint: "make it"}},
		{errors.New("plain"), api.Denial{Code: CodeFailed, Message: "plain"}},
	} {
		var got *api.Denial
		if !errors.As(ForProgram(tt.err), &got) || got.Code != tt.want.Code || got.Message != tt.want.Message || got.Hint != tt.want.Hint {
			t.Errorf("%v: %+v", tt.err, got)
		}
	}
	if ForProgram(nil) != nil {
		t.Error("no error became one")
	}
}

// TestCall: an operation goes on to its end when its caller waits no more, and a panic in one is
// an error of it.
func TestCall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	held, ended := make(chan bool), make(chan bool)
	cancel()
	_, err := Call(ctx, func() (int, error) {
		<-held
		close(ended)
		return 1, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that waits no more: %v", err)
	}
	close(held)
	<-ended

	_, err = Call(context.Background(), func() (int, error) {
		var none []int
		return none[len(none)], nil
	})
	var f *Fault
	if !errors.As(err, &f) || !strings.Contains(string(f.Stack), "TestCall") {
		t.Errorf("a panic: %v", err)
	}
}

// TestInto: an answer is refused where it is larger than a program may get, and the fields
// that a surface does not know are left out.
func TestInto(t *testing.T) {
	var out struct {
		Name string `json:"name"`
	}
	if err := Into("list", map[string]any{"name": "dev", "more": 1}, &out); err != nil || out.Name != "dev" {
		t.Errorf("%+v, %v", out, err)
	}
	err := Into("diff", map[string]any{"name": strings.Repeat("x", MaxAnswer)}, &out)
	if err == nil || err.Error() != "carrel diff gave more than 4194304 bytes" {
		t.Errorf("%.80v", err)
	}
}

// TestNoZeroBytes: a word with a zero byte is refused, as no path has one.
func TestNoZeroBytes(t *testing.T) {
	var d *api.Denial
	if err := NoZeroBytes("undo", "a", "b\x00c"); !errors.As(err, &d) || d.Code != CodeArguments || d.Operation != "undo" {
		t.Errorf("%v", err)
	}
	if err := NoZeroBytes("undo", "", "a"); err != nil {
		t.Error(err)
	}
}
