package hostexec

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestWorkmux: a guest of workmux is answered as it expects.
func TestWorkmux(t *testing.T) {
	h, at := serve(t)
	k := dialTo(t, at, `{"token":"`+strings.Repeat("0", TokenLen)+`"}`)
	if got := k.line(); got != `{"type":"Error","message":"Invalid token"}` || k.line() != "EOF" {
		t.Errorf("a wrong token: %s", got)
	}
	k = dialTo(t, at, `{"token":"`+token+`"}`)
	for _, c := range []struct {
		line string
		want []string
	}{
		{`{"type":"Heartbeat"}`, []string{`{"type":"Ok"}`}},
		{``, nil},
		{`{"type":"SetStatus","status":"Waiting"}`, []string{`{"type":"Ok"}`}},
		{`{"type":"SetStatus","status":"tired"}`, []string{`{"type":"Error","message":"Unknown status: tired"}`}},
		{`{"type":"SetTitle","title":"x","more":1}`, []string{`{"type":"Ok"}`}},
		{`{"type":"SpawnAgent","prompt":"do stuff","branch_name":null,"background":null}`,
			[]string{`{"type":"Error","message":"SpawnAgent comes with worktrees"}`}},
		{`{"type":"Exec","command":"sh","args":["-c","cat; printf 'h\\303'; sleep 0.1; printf '\\244\\377'; sleep 0.1; exit 42"]}`,
			[]string{`{"type":"ExecOutput","data":"h"}`, `{"type":"ExecOutput","data":"ä` + "\ufffd" + `"}`, `{"type":"ExecExit","code":42}`}},
		{`{"type":"Exec","command":"sh","args":["-c","echo e >&2; kill -TERM $$"]}`, []string{`{"type":"ExecError","data":"e\n"}`,
			`{"type":"ExecExit","code":143}`}},
		{`{"type":"Exec","command":"rm","args":["$(id)"]}`, []string{`{"type":"ExecError","data":"rm is no host command\n"}`,
			`{"type":"ExecExit","code":127}`}},
	} {
		k.send(c.line)
		for _, want := range c.want {
			if got := k.line(); got != want {
				t.Errorf("%s:\n got %s\nwant %s", c.line, got, want)
			}
		}
	}
	for _, more := range []string{"", "\n" + `{"type":"Heartbeat"}`} { // asked ahead or not
		k = dialTo(t, at, `{"token":"`+token+`"}`)
		k.send(`{"type":"Exec","command":"sh","args":["-c","echo $$; sleep 1000"]}` + more)
		k.line()
		k.Close()
		for end := time.Now().Add(10 * time.Second); h.running() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("it runs on, asked ahead %q", more)
			}
		}
	}
}

// TestOverTCP: there the token is everybody's to show, and no descriptors come.
func TestOverTCP(t *testing.T) {
	s := &Server{Host: &shell{}, Token: token}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l)
	defer s.Close()
	for first, want := range map[string]string{
		hello: `"unauthorised"`,
		`{"type":"Hello","version":1,"token":"` + token + `"}`: `"features":["exec","stdin","signal","resize","cancel","tty"],`,
		`{"token":""}`:              "Invalid token",
		`{"token":"` + token + `"}`: "",
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprintln(c, first)
		if want == "" {
			want = `{"type":"Ok"}`
			fmt.Fprintln(c, `{"type":"Heartbeat"}`)
		}
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%s: %s %v", first, line, err)
		}
		c.Close()
	}
}

// TestPropertyWholeText: cut wherever, the text is that of the whole.
func TestPropertyWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var w wholeText
		var out strings.Builder
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			piece := w.next(rest[:n])
			if !utf8.ValidString(piece) {
				t.Fatalf("%q", piece)
			}
			out.WriteString(piece)
			rest = rest[n:]
		}
		out.WriteString(w.end())
		if out.String() != strings.ToValidUTF8(text, "\ufffd") {
			t.Fatalf("%q, want %q", out.String(), text)
		}
	})
}

// TestPropertyAsk: what a shim sends is a Hello and the Exec that it means.
func TestPropertyAsk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) })
		args, cwd := rapid.SliceOf(text).Draw(t, "args"), text.Draw(t, "cwd")
		var size *Size
		if rapid.Bool().Draw(t, "tty") {
			size = &Size{rapid.Uint16().Draw(t, "rows"), rapid.Uint16().Draw(t, "columns")}
		}
		lines := strings.SplitAfter(string(Ask("7", "sh", args, cwd, []string{"A=\xff=", "B", "=x", "\xff=y", "A=2", "C=\n"},
			StdioPassed, size)), "\n")
		if len(lines) != 3 || lines[0] != hello+"\n" {
			t.Fatalf("%q", lines)
		}
		r, err := decode([]byte(lines[1]))
		if err != nil || r.ID != "7" || r.Command != "sh" || string(r.Cwd) != cwd || len(r.Args) != len(args) ||
			r.Stdio != StdioPassed || len(r.Env) != 2 || r.Env["A"] != "\xff=" || r.Env["C"] != "\n" {
			t.Fatalf("%+v %v", r, err)
		}
		for i := range args {
			if string(r.Args[i]) != args[i] {
				t.Fatalf("%q, want %q", r.Args[i], args[i])
			}
		}
		if (r.TTY == nil) != (size == nil) || size != nil && *r.TTY != *size {
			t.Fatalf("%+v", r.TTY)
		}
	})
}
