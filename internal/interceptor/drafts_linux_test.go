package interceptor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/broker"

	"golang.org/x/sys/unix"
)

// judges lets files hold what begins with "good" alone.
type judges struct{ allows }

func (judges) Decide(ch *broker.Change) broker.Verdict {
	return broker.Verdict{Allowed: true, Most: 100, Rule: "judged", Vet: func(_, after []byte) error {
		if !bytes.HasPrefix(after, []byte("good")) {
			return errors.New("it is bad")
		}
		return nil
	}}
}

func (p *peer) open(t *testing.T, node uint64) uint64 {
	t.Helper()
	e, body := p.say(14, node, numbers(unix.O_RDWR, 0))
	if e != 0 {
		t.Fatal("open:", e)
	}
	return binary.NativeEndian.Uint64(body)
}

func (p *peer) create(t *testing.T, in uint64, name string) (node, fh uint64) {
	t.Helper()
	e, body := p.say(35, in, append(append(numbers(unix.O_WRONLY|unix.O_CREAT, 0o644, 0, 0), name...), 0))
	if e != 0 {
		t.Fatal("create:", e)
	}
	return binary.NativeEndian.Uint64(body), binary.NativeEndian.Uint64(body[len(body)-16:])
}

func (p *peer) write(fh uint64, at uint64, text string) unix.Errno {
	b := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, fh), at)
	b = append(append(b, numbers(uint32(len(text)))...), make([]byte, 20)...)
	e, _ := p.say(opWrite, 0, append(b, text...))
	return e
}

func (p *peer) close(fh uint64) (flushed unix.Errno) {
	body := append(binary.NativeEndian.AppendUint64(nil, fh), make([]byte, 16)...)
	flushed, _ = p.say(25, 0, body)
	p.say(18, 0, body)
	return flushed
}

// TestJudgedContent: what is written to a file that is judged by its content is in the file once it
// has been judged and not before; what is refused never is.
func TestJudgedContent(t *testing.T) {
	s, root := bareServer(t)
	s.config.Decider = judges{}
	var refused []string
	s.config.Refused = func(ch *broker.Change, v broker.Verdict) {
		refused = append(refused, filepath.Base(ch.Path)+" "+v.Rule)
	}
	holds := func(name, want string) {
		t.Helper()
		if data, err := os.ReadFile(root + "/" + name); string(data) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q %v, and %q is right", name, data, err, want)
		}
	}
	p := newPeer(s)
	top := p.node(topNode, "0")
	file := p.node(top, "file")

	fh := p.open(t, file)
	if e := p.write(fh, 0, "good one"); e != 0 {
		t.Fatal(e)
	}
	holds("file", "text")
	if _, body := p.say(3, file, make([]byte, 16)); binary.NativeEndian.Uint64(body[16+8:]) != 8 {
		t.Errorf("inside it has %d bytes", binary.NativeEndian.Uint64(body[16+8:]))
	}
	if e := p.close(fh); e != 0 {
		t.Error("close:", e)
	}
	holds("file", "good one")

	fh, again := p.open(t, file), p.open(t, file)
	if e := p.write(fh, 0, "bad!"); e != 0 {
		t.Fatal(e)
	}
	if e := p.close(fh); e != unix.EACCES || len(refused) != 0 {
		t.Errorf("close of what is bad: %v, told %q", e, refused)
	}
	if e := p.write(again, 90, "more than fits"); e != unix.EFBIG {
		t.Errorf("more than fits: %v", e)
	}
	p.close(again)
	holds("file", "good one")
	if len(refused) != 1 || refused[0] != "file judged: it is bad" {
		t.Errorf("told %q", refused)
	}

	for _, c := range []struct{ name, text, holds string }{{"fine", "good", "good"}, {"foul", "bad", ""}} {
		_, fh := p.create(t, top, c.name)
		p.write(fh, 0, c.text)
		p.close(fh)
		holds(c.name, c.holds)
	}
	if e, _ := p.say(4, file, append(numbers(8, 0), make([]byte, 80)...)); e != unix.EACCES { // setattr of the size
		t.Errorf("cut without an open: %v", e)
	}

	fh = p.open(t, file)
	p.write(fh, 0, "good to the end")
	s.Close()
	holds("file", "good to the end")
	if n := len(s.drafts.of); n != 0 {
		t.Errorf("%d drafts are left", n)
	}
}
