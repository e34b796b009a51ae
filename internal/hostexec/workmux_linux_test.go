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
		{`{"type":"SpawnAgent","prompt":"do stuff","branch_name":null,"background":null}`, []string{`{"type":"Error","message":"SpawnAgent comes with worktrees"}`}},
		{`{"type":"Exec","command":"sh","args":["-c","cat; printf 'h\\303'; sleep 0.1; printf '\\244\\377'; sleep 0.1; exit 42"]}`,
			[]string{`{"type":"ExecOutput","data":"h"}`, `{"type":"ExecOutput","data":"ä` + "\ufffd" + `"}`, `{"type":"ExecExit","code":42}`}},
		{`{"type":"Exec","command":"sh","args":["-c","echo e >&2; kill -TERM $$"]}`, []string{`{"type":"ExecError","data":"e\n"}`, `{"type":"ExecExit","code":143}`}},
		{`{"type":"Exec","command":"rm","args":["$(id)"]}`, []string{`{"type":"ExecError","data":"rm is no host command\n"}`, `{"type":"ExecExit","code":127}`}},
	} {
		k.send(c.line)
		for _, want := range c.want {
			if got := k.line(); got != want {
				t.Errorf("%s:\n got %s\nwant %s", c.line, got, want)
			}
		}
	}
	k.send(`{"type":"Exec","command":"sh","args":["-c","echo $$; sleep 1000"]}`)
	k.line()
	k.Close()
	for end := time.Now().Add(10 * time.Second); h.running() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it runs on")
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
