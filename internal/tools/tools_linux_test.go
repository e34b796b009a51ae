package tools

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/fileops"
)

// TestFiles: what a file tool changes is one step that can be taken back; what changes
// nothing is none.
func TestFiles(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.write("old.txt", "one\ntwo\n")
	answer, step, err := Files(ctx, d.entry, "", &fileops.WriteFile{Path: "new/dir/file.txt", Content: "made\n"})
	if w, ok := answer.(*fileops.Written); err != nil || !ok || !w.Created || step == 0 || d.read("new/dir/file.txt") != "made\n" {
		t.Fatalf("write: %+v step %d: %v", answer, step, err)
	}
	first := step
	if _, step, err = Files(ctx, d.entry, "", &fileops.WriteFile{Path: "new/dir/file.txt", Content: "made\n"}); err != nil || step != 0 {
		t.Errorf("the same again: step %d: %v", step, err)
	}
	answer, step, err = Files(ctx, d.entry, d.project+"/new", &fileops.EditFile{Path: "../old.txt", Edit: fileops.Edit{Old: "two", New: "2"}})
	if err != nil || step <= first || d.read("old.txt") != "one\n2\n" {
		t.Fatalf("edit: %+v step %d: %v", answer, step, err)
	}
	for _, req := range []fileops.Request{
		&fileops.ReadFile{Path: "old.txt"}, &fileops.ListDirectory{}, &fileops.Glob{Pattern: "**"}, &fileops.Grep{Pattern: "one"},
		&fileops.EditFile{Path: "old.txt", Edit: fileops.Edit{Old: "not there", New: "x"}},
		&fileops.WriteFile{Path: "old.txt", Content: "x", Expect: fileops.Absent},
	} {
		if _, step, err := Files(ctx, d.entry, "", req); step != 0 {
			t.Errorf("%s: step %d: %v", fileops.OpOf(req), step, err)
		}
	}
	if got := d.steps(); len(got) != 2 {
		t.Errorf("steps %v, want two", got)
	}
	if out, err := d.carrel("undo"); err != nil || d.read("old.txt") != "one\ntwo\n" {
		t.Errorf("undo: %v: %s", err, out)
	}
	if out, err := d.carrel("undo"); err != nil {
		t.Errorf("undo: %v: %s", err, out)
	}
	if _, err := os.Stat(d.project + "/new"); err == nil {
		t.Error("undo leaves the new directories")
	}
	var e *fileops.Error
	if _, _, err := Files(ctx, d.entry, "", &fileops.ReadFile{Path: "/root/.ssh/id_rsa"}); !errors.As(err, &e) || e.Code != fileops.CodeNotFound || e.Operation != fileops.OpRead {
		t.Errorf("out of the project: %v", err)
	}
	start := time.Now()
	for range 20 {
		if _, _, err := Files(ctx, d.entry, "", &fileops.ReadFile{Path: "old.txt"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a read takes %v", time.Since(start)/20)
	start = time.Now()
	for i := range 20 {
		if _, step, err := Files(ctx, d.entry, "", &fileops.WriteFile{Path: "old.txt", Content: strings.Repeat("x", i)}); err != nil || step == 0 {
			t.Fatal(step, err)
		}
	}
	t.Logf("a write takes %v", time.Since(start)/20)
}

// TestLargeFiles: what is as large as may be goes both ways.
func TestLargeFiles(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	content := strings.Repeat("\x01\"é\n", fileops.MaxContent/5)
	if _, step, err := Files(ctx, d.entry, "", &fileops.WriteFile{Path: "large", Content: content}); err != nil || step == 0 || d.read("large") != content {
		t.Fatalf("step %d: %v", step, err)
	}
	answer, _, err := Files(ctx, d.entry, "", &fileops.ReadFile{Path: "large", MaxBytes: fileops.MaxRead})
	if err != nil || len(answer.(*fileops.FileContent).Content) < fileops.MaxRead-8 {
		t.Errorf("%v", err)
	}
}

// TestManyReads: requests side by side do not mix.
func TestManyReads(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"a", "b", "c"} {
		d.write(name, strings.Repeat(name, 1000))
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, 32)
	for i := range 200 {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			name := string(rune('a' + i%3))
			answer, step, err := Files(t.Context(), d.entry, "", &fileops.ReadFile{Path: fileops.Path(name)})
			if err != nil || step != 0 || answer.(*fileops.FileContent).Content != strings.Repeat(name, 1000) {
				t.Errorf("%s: step %d: %v", name, step, err)
			}
		})
	}
	wg.Wait()
	if got := d.steps(); len(got) != 0 {
		t.Errorf("steps %v", got)
	}
}

// TestRun: a command's input, outputs, status and bounds.
func TestRun(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	var heard atomic.Int64
	r, err := Run(ctx, d.entry, api.Command{Argv: []string{"sh", "-c", "cat; echo e >&2; echo x > made; exit 3"}}, []byte("in\n"), Limits{Progress: func(_ string, b []byte) { heard.Add(int64(len(b))) }})
	if err != nil || r.App.Exit != 3 || r.Stdout.String() != "in\n" || r.Stderr.String() != "e\n" || len(r.App.Steps) != 1 || heard.Load() != 5 {
		t.Fatalf("%+v: %v", r, err)
	}
	r, err = Run(ctx, d.entry, api.Command{Argv: []string{"sh", "-c", "echo begin; head -c 3000000 /dev/zero; echo; echo end"}}, nil, Limits{Stdout: 1000})
	if err != nil || !strings.HasPrefix(r.Stdout.String(), "begin\n") || !strings.HasSuffix(r.Stdout.String(), "\nend\n") || len(r.Stdout.Bytes())+int(r.Stdout.Left) != 3000011 {
		t.Errorf("a long output: %d left: %v", r.Stdout.Left, err)
	}
	var why *api.Denial
	if r, err := Run(ctx, d.entry, api.Command{Argv: []string{"no-such-program"}}, nil, Limits{}); r != nil || !errors.As(err, &why) || why.Code != api.CodeStart {
		t.Errorf("%+v: %v", r, err)
	}
	start := time.Now()
	r, err = Run(ctx, d.entry, api.Command{Argv: []string{"sh", "-c", "sleep 5401 & echo early"}}, nil, Limits{})
	if err != nil || r.Stdout.String() != "early\n" || time.Since(start) > 5*time.Second {
		t.Errorf("with something left behind: %+v: %v", r, err)
	}
}

// TestCancel: what nobody waits for any more ends, with all that it has started.
func TestCancel(t *testing.T) {
	d := newDesk(t)
	script := "setsid sleep 5402 & (trap '' TERM HUP; sleep 5403; sleep 5403) & sleep 5404"
	for name, run := range map[string]func(context.Context) error{
		"run": func(ctx context.Context) error {
			_, err := Run(ctx, d.entry, api.Command{Argv: []string{"bash", "-c", script}}, nil, Limits{})
			return err
		},
		"bash": func(ctx context.Context) error {
			_, err := Bash(ctx, d.entry, BashRequest{Command: script})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- run(ctx) }()
		for _, n := range []string{"sleep 5402", "sleep 5403", "sleep 5404"} { // it did run
			eventually(t, n, func() bool { return runs(n) })
		}
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(15 * time.Second):
			t.Fatalf("%s does not return", name)
		}
		eventually(t, name+": all to be gone", func() bool { return !runs("sleep 5402") && !runs("sleep 5403") && !runs("sleep 5404") })
	}
}

// TestControl: a workspace that may not be changed refuses with a reason, and what
// nobody waits for ends all the same.
func TestControl(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Bash(ctx, d.entry, BashRequest{Command: "sleep 5407 & sleep 5407"})
		done <- err
	}()
	eventually(t, "it to run", func() bool { return runs("sleep 5407") })
	if out, err := d.carrel("control", "desk", "read_only"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var why *api.Denial
	if _, step, err := Files(ctx, d.entry, "", &fileops.WriteFile{Path: "f", Content: "x"}); !errors.As(err, &why) || why.Code != api.CodeControl || step != 0 {
		t.Errorf("step %d: %v", step, err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	eventually(t, "all to be gone", func() bool { return !runs("sleep 5407") })
}

// TestBash: one stream in order, status, directory, time, and a log that is kept.
func TestBash(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.write("sub/file", "")
	var heard bytes.Buffer
	r, err := Bash(ctx, d.entry, BashRequest{Command: `for i in 1 2 3; do echo o$i; echo e$i >&2; done; echo "$X" > made; pwd; exit 4`, Dir: d.project + "/sub", Env: []string{"X=y"}, Progress: func(b []byte) { heard.Write(b) }})
	want := "o1\ne1\no2\ne2\no3\ne3\n" + d.project + "/sub\n"
	if err != nil || r.App.Exit != 4 || r.Output.String() != want || heard.String() != want || r.TimedOut || len(r.App.Steps) != 1 || r.App.Dir != d.project+"/sub" || d.read("sub/made") != "y\n" {
		t.Fatalf("%+v %q: %v", r, r.Output, err)
	}
	if out, err := d.carrel("logs", "desk", r.App.ID); err != nil || out != want {
		t.Errorf("its log: %v: %q", err, out)
	}
	r, err = Bash(ctx, d.entry, BashRequest{Command: "seq 1 400000", Output: 2000})
	if err != nil || !strings.HasPrefix(r.Output.String(), "1\n2\n") || !strings.HasSuffix(r.Output.String(), "399999\n400000\n") || len(r.Output.Bytes())+int(r.Output.Left) != 2688895 {
		t.Errorf("a long output: %d + %d: %v", len(r.Output.Bytes()), r.Output.Left, err)
	}
	if out, err := d.carrel("logs", "desk", r.App.ID); err != nil || len(out) != 2688895 {
		t.Errorf("its log: %v: %d bytes", err, len(out))
	}
	start := time.Now()
	r, err = Bash(ctx, d.entry, BashRequest{Command: "echo before; sleep 5405", Timeout: 300 * time.Millisecond})
	if err != nil || !r.TimedOut || r.App.Running || r.App.Signal != "SIGTERM" || r.Output.String() != "before\n" || time.Since(start) > 4*time.Second || runs("sleep 5405") {
		t.Errorf("a time that is over: %+v: %v", r, err)
	}
	r, err = Bash(ctx, d.entry, BashRequest{Command: "echo out; echo err >&2; exec sleep 5406", Background: true})
	if err != nil || !r.App.Running {
		t.Fatalf("in the background: %+v: %v", r, err)
	}
	eventually(t, "its log", func() bool { out, _ := d.carrel("logs", "desk", r.App.ID); return out == "out\nerr\n" })
	if !runs("sleep 5406") {
		t.Error("it does not run in the background")
	}
	start = time.Now()
	r, err = Bash(ctx, d.entry, BashRequest{Command: "(while :; do echo more; done) & echo mine"})
	if err != nil || r.App.Exit != 0 || time.Since(start) > 8*time.Second {
		t.Errorf("with something that writes on: %v after %v", err, time.Since(start))
	}
}
