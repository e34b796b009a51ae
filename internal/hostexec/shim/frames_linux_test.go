package shim

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"carrel/internal/hostexec"
)

// TestFrames: where no descriptors are passed, input goes in lines and its end is told; output comes
// in lines, and one that cannot be written ends the command.
func TestFrames(t *testing.T) {
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, stdout := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = in, out
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()
	r, other := pair(t)
	r.stdio = hostexec.StdioFrames
	said := bufio.NewReader(other)
	next := func() (q hostexec.Request) {
		line, err := said.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &q) != nil {
			t.Errorf("%q %v", line, err)
		}
		return q
	}
	if _, err := to.WriteString("input"); err != nil {
		t.Fatal(err)
	}
	to.Close()
	go r.feed()
	if q := next(); q.Type != hostexec.TypeStdin || string(q.Data) != "input" || q.EOF {
		t.Errorf("%+v", q)
	}
	if q := next(); q.Type != hostexec.TypeStdin || !q.EOF {
		t.Errorf("%+v", q)
	}
	r.show(&hostexec.Reply{Stream: hostexec.StreamStdout, Data: []byte("output")})
	buf := make([]byte, 20)
	if n, err := from.Read(buf); err != nil || string(buf[:n]) != "output" {
		t.Errorf("%q %v", buf[:n], err)
	}
	out.Close()
	r.show(&hostexec.Reply{Stream: hostexec.StreamStdout, Data: []byte("lost")})
	if q := next(); q.Type != hostexec.TypeCancel || r.lost[1] == nil {
		t.Errorf("%+v, lost: %v", q, r.lost[1])
	}
}
