package taskhost

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"carrel/internal/hostexec"
	"carrel/internal/inside"
)

// asked sends a call with a size to a host, as a program inside does, and gives what comes back.
func asked(t *testing.T, h *Host, size int64, call string) (inside.Reply, string) {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	_ = here.SetDeadline(time.Now().Add(10 * time.Second))
	go func() {
		defer there.Close()
		from := &io.LimitedReader{R: there, N: inside.MaxRequest}
		h.Answer(context.Background(), there, bufio.NewReader(from), from, inside.Request{Operation: inside.OpTask, Size: size})
	}()
	go func() { _, _ = io.WriteString(here, call) }()
	in := bufio.NewReader(here)
	line, err := in.ReadBytes('\n')
	var r inside.Reply
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, r.Size)
	if _, err := io.ReadFull(in, text); err != nil {
		t.Fatal(err)
	}
	return r, string(text)
}

// TestAnswer: a call comes whole, its answer goes whole, and what is no call is refused.
func TestAnswer(t *testing.T) {
	h := New(func(_ context.Context, call []byte) []byte { return append([]byte("said "), call...) })
	long := strings.Repeat("x", inside.MaxRequest*2)
	for _, call := range []string{"{}", long} {
		if r, text := asked(t, h, int64(len(call)), call); !r.OK || text != "said "+call {
			t.Errorf("%.20q: %+v %.20q", call, r, text)
		}
	}
	for _, size := range []int64{0, -1, maxCall + 1} {
		if r, _ := asked(t, h, size, ""); r.OK || !strings.Contains(r.Message, "not understood") {
			t.Errorf("%d bytes: %+v", size, r)
		}
	}
	if r, _ := asked(t, New(nil), 2, "{}"); r.OK || !strings.Contains(r.Message, "--coordinator") {
		t.Errorf("a workspace that gives none: %+v", r)
	}
}

// TestCallerGoes: a call ends with its caller.
func TestCallerGoes(t *testing.T) {
	begun, ended := make(chan bool), make(chan bool)
	h := New(func(ctx context.Context, _ []byte) []byte {
		close(begun)
		<-ctx.Done()
		close(ended)
		return nil
	})
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		from := &io.LimitedReader{R: there, N: inside.MaxRequest}
		h.Answer(context.Background(), there, bufio.NewReader(from), from, inside.Request{Size: 2})
	}()
	_, _ = io.WriteString(here, "{}")
	<-begun
	here.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
}

// TestAtOnce: more calls than there may be are refused at once, and the next is answered when one
// has ended.
func TestAtOnce(t *testing.T) {
	hold := make(chan bool)
	h := New(func(context.Context, []byte) []byte { <-hold; return []byte("{}") })
	done := make(chan bool)
	for range atOnce {
		go func() { asked(t, h, 2, "{}"); done <- true }()
	}
	for began := time.Now(); len(h.slots) < atOnce; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the calls do not begin")
		}
	}
	if r, _ := asked(t, h, 2, "{}"); r.OK || !strings.Contains(r.Message, "too many") {
		t.Errorf("%+v", r)
	}
	if p := h.Workmux(t.Context(), hostexec.TypeClose, hostexec.Task{Name: "x"}); p == nil || p.Code != hostexec.CodeBusy {
		t.Errorf("by the host protocol: %+v", p)
	}
	close(hold)
	for range atOnce {
		<-done
	}
	if r, _ := asked(t, h, 2, "{}"); !r.OK {
		t.Errorf("afterwards: %+v", r)
	}
}

// TestWorkmux: the words of workmux become the same calls, and its refusals have their fields.
func TestWorkmux(t *testing.T) {
	var last string
	answer := `{"result":{}}`
	h := New(func(_ context.Context, call []byte) []byte { last = string(call); return []byte(answer) })
	for _, c := range []struct {
		what string
		of   hostexec.Task
		want string
	}{
		{hostexec.TypeSpawnAgent, hostexec.Task{Prompt: "do", Branch: "fix/x", Background: true}, `{"name":"fix/x","op":"new","prompt":"do"}`},
		{hostexec.TypeClose, hostexec.Task{Name: "x"}, `{"name":"x","op":"close"}`},
		{hostexec.TypeMerge, hostexec.Task{Name: "x", Into: "main", Squash: true, NoVerify: true, Uncommitted: true},
			`{"into":"main","keep":false,"name":"x","op":"merge","rebase":false,"squash":true}`},
	} {
		if p := h.Workmux(t.Context(), c.what, c.of); p != nil || last != c.want {
			t.Errorf("%s: %s %+v, want %s", c.what, last, p, c.want)
		}
	}
	answer = `{"error":{"code":"no-task","message":"no task","hint":"h"}}`
	if p := h.Workmux(t.Context(), hostexec.TypeClose, hostexec.Task{Name: "x"}); p == nil || p.Code != "no-task" || p.Hint != "h" {
		t.Errorf("%+v", p)
	}
	if p := New(nil).Workmux(t.Context(), hostexec.TypeMerge, hostexec.Task{}); p == nil ||
		p.Code != hostexec.CodeUnsupported || !strings.Contains(p.Hint, "--coordinator") {
		t.Errorf("%+v", p)
	}
	if p := h.Workmux(t.Context(), hostexec.TypeSpawnAgent, hostexec.Task{Prompt: strings.Repeat("x", maxCall)}); p == nil ||
		p.Code != hostexec.CodeRequest {
		t.Errorf("too long: %+v", p)
	}
}
