package interceptor

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/broker"

	"golang.org/x/sys/unix"
)

// allows lets everything be done, and records nothing.
type allows struct{}

func (allows) Decide(*broker.Change) broker.Verdict { return broker.Verdict{Allowed: true} }
func (allows) Before(*broker.Change) error          { return nil }
func (allows) After(*broker.Change, error)          {}

// bareServer serves a new directory with a file and a directory, or what has some names of it alone.
func bareServer(t testing.TB, names ...string) (s *Server, root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root+"/dir/below", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/file", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", root+"/etc"); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s, err = New(Config{Roots: []Root{{Path: root, FD: fd, Names: names}}, Decider: allows{}, Recorder: allows{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, root
}

// message is one request of a kernel that says what it likes.
func message(op uint32, node uint64, body []byte) []byte {
	m := make([]byte, inHeader, inHeader+len(body))
	binary.NativeEndian.PutUint32(m, uint32(inHeader+len(body)))
	binary.NativeEndian.PutUint32(m[4:], op)
	binary.NativeEndian.PutUint64(m[8:], 7)
	binary.NativeEndian.PutUint64(m[16:], node)
	return append(m, body...)
}

func numbers(n ...uint32) []byte {
	var out []byte
	for _, one := range n {
		out = binary.NativeEndian.AppendUint32(out, one)
	}
	return out
}

// peer speaks to a server, one request after the other.
type peer struct {
	v   *service
	out []byte
}

func newPeer(s *Server) *peer {
	p := &peer{v: &service{s: s, protocol: s.protocol()}, out: make([]byte, MaxMessage)}
	p.say(opInit, 0, append(numbers(7, 45, 1<<17, 0xffffffff, 0xffffffff), make([]byte, 44)...))
	return p
}

// say gives the error and the body of the answer.
func (p *peer) say(op uint32, node uint64, body []byte) (unix.Errno, []byte) {
	answer, _ := p.v.answer(message(op, node, body), p.out)
	if len(answer) == 0 {
		return 0, nil
	}
	return unix.Errno(-int32(binary.NativeEndian.Uint32(answer[4:]))), answer[outHeader:]
}

// node looks a name up and gives its number, 0 where it has none.
func (p *peer) node(in uint64, name string) uint64 {
	if e, body := p.say(opLookup, in, append([]byte(name), 0)); e == 0 {
		return binary.NativeEndian.Uint64(body)
	}
	return 0
}

// TestOnlySomeFilesAreServed: where only some files of a directory are served, nothing else there has a name.
func TestOnlySomeFilesAreServed(t *testing.T) {
	s, root := bareServer(t, "file")
	s.config.Masked = func(path string) bool { return path != root+"/file" }
	p := newPeer(s)
	top := p.node(topNode, "0")
	if top == 0 || p.node(top, "file") == 0 {
		t.Fatal("the file is not served")
	}
	for _, name := range []string{"dir", "etc", "absent"} {
		if e, _ := p.say(opLookup, top, append([]byte(name), 0)); e != unix.EACCES {
			t.Errorf("%s: %v", name, e)
		}
		if e, _ := p.say(9, top, append(append(numbers(0o755, 0), name...), 0)); e != unix.EACCES { // mkdir
			t.Errorf("mkdir %s: %v", name, e)
		}
	}
	e, body := p.say(27, top, numbers(0, 0)) // opendir
	if e != 0 {
		t.Fatal(e)
	}
	read := binary.NativeEndian.AppendUint64(nil, binary.NativeEndian.Uint64(body))
	_, body = p.say(28, top, append(append(read, make([]byte, 8)...), numbers(4096, 0, 0, 0, 0, 0)...)) // readdir
	if text := string(body); !strings.Contains(text, "file") || strings.Contains(text, "dir") || strings.Contains(text, "etc") {
		t.Errorf("it lists %q", text)
	}
}

// TestStandIn: of a file for which another content stands nothing else is read, and nothing is written.
func TestStandIn(t *testing.T) {
	s, root := bareServer(t)
	s.config.StandIn = func(path string) []byte {
		if path == root+"/file" {
			return []byte("stands")
		}
		return nil
	}
	p := newPeer(s)
	n := p.node(topNode, "0")
	_, entry := p.say(opLookup, n, []byte("file\x00"))
	if size := binary.NativeEndian.Uint64(entry[40+8:]); size != 6 {
		t.Errorf("it has %d bytes, want 6", size)
	}
	file := binary.NativeEndian.Uint64(entry)
	for flags, want := range map[uint32]unix.Errno{unix.O_RDONLY: 0, unix.O_WRONLY: unix.EACCES, unix.O_RDWR: unix.EACCES} {
		e, body := p.say(14, file, numbers(flags, 0))
		if e != want {
			t.Errorf("open with %#x: %v, want %v", flags, e, want)
		}
		if e != 0 {
			continue
		}
		fh := binary.NativeEndian.Uint64(body)
		read := numbers(uint32(fh), 0, 0, 0, 100, 0, 0, 0, 0, 0)
		if e, text := p.say(opRead, file, read); e != 0 || string(text) != "stands" {
			t.Errorf("read: %v %q", e, text)
		}
	}
}

// TestNamesStayBeneathTheRoot: no name and no number leads out of a root.
func TestNamesStayBeneathTheRoot(t *testing.T) {
	s, root := bareServer(t)
	p := newPeer(s)
	top := p.node(topNode, "0")
	if top == 0 || p.node(top, "file") == 0 {
		t.Fatal("the root is not served")
	}
	for _, name := range []string{"", ".", "..", "../x", "dir/below", "etc/passwd", "/etc/passwd", strings.Repeat("n", 256)} {
		if n := p.node(top, name); n != 0 {
			t.Errorf("%q is node %d", name, n)
		}
		if e, _ := p.say(9, top, append(append(numbers(0o755, 0), name...), 0)); e == 0 { // mkdir
			t.Errorf("mkdir %q: done", name)
		}
	}
	for _, name := range []string{"1", "00", "-1", "+0", "..", "0/dir"} {
		if n := p.node(topNode, name); n != 0 {
			t.Errorf("%q of the top is node %d", name, n)
		}
	}
	link := p.node(top, "etc")
	if e, _ := p.say(opLookup, link, []byte("passwd\x00")); e != unix.ENOTDIR {
		t.Errorf("a name below a link: %v", e)
	}
	if e, _ := p.say(14, link, numbers(unix.O_RDWR, 0)); e == 0 {
		t.Error("a link was opened")
	}
	// What becomes a link after it was looked up is not followed.
	dir := p.node(top, "dir")
	if err := os.Rename(root+"/dir", root+"/was"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", root+"/dir"); err != nil {
		t.Fatal(err)
	}
	s.nodes.unpin(s.nodes.get(dir))
	if n := p.node(dir, "etc"); n != 0 {
		t.Errorf("a link was followed: node %d", n)
	}
}

// TestMovedOutOfTheRoot: a directory that a program outside moves away is no longer served.
func TestMovedOutOfTheRoot(t *testing.T) {
	s, root := bareServer(t)
	p := newPeer(s)
	dir := p.node(p.node(topNode, "0"), "dir")
	if p.node(dir, "below") == 0 {
		t.Fatal("it is not served")
	}
	away := t.TempDir() + "/away"
	if err := os.Rename(root+"/dir", away); err != nil {
		t.Fatal(err)
	}
	if e, _ := p.say(9, dir, append(numbers(0o755, 0), "new\x00"...)); e == 0 {
		t.Error("a directory was made outside the root")
	}
	if entries, _ := os.ReadDir(away); len(entries) != 1 {
		t.Errorf("%d entries", len(entries))
	}
}

// TestForgedNumbers: nodes and handles that were never given, and what was given for
// something else, are refused.
func TestForgedNumbers(t *testing.T) {
	s, _ := bareServer(t)
	p := newPeer(s)
	top := p.node(topNode, "0")
	file, dir := p.node(top, "file"), p.node(top, "dir")
	e, body := p.say(14, file, numbers(unix.O_RDONLY, 0))
	if e != 0 {
		t.Fatal(e)
	}
	fh := binary.NativeEndian.Uint64(body)
	write := func(fh uint64) unix.Errno {
		b := binary.NativeEndian.AppendUint64(nil, fh)
		b = append(b, make([]byte, 32)...)
		binary.NativeEndian.PutUint32(b[16:], 3)
		e, _ := p.say(opWrite, file, append(b, "abc"...))
		return e
	}
	if e := write(fh); e != unix.EBADF {
		t.Errorf("a write to what is open for reading: %v", e)
	}
	for _, forged := range []uint64{0, fh + 1, 1 << 63} {
		if e := write(forged); e != unix.EBADF {
			t.Errorf("a write to handle %d: %v", forged, e)
		}
	}
	read := append(binary.NativeEndian.AppendUint64(nil, fh), make([]byte, 32)...)
	if e, _ := p.say(opReaddir, dir, read); e != unix.EBADF {
		t.Errorf("a file was listed: %v", e)
	}
	for _, node := range []uint64{0, 999, 1 << 40, ^uint64(0)} {
		if e, _ := p.say(14, node, numbers(unix.O_RDONLY, 0)); e == 0 {
			t.Errorf("node %d was opened", node)
		}
		p.say(opForget, node, make([]byte, 8))
	}
	// A root stays, however often it is forgotten; a file goes with its last lookup.
	p.say(opForget, top, binary.NativeEndian.AppendUint64(nil, 1<<60))
	p.say(opForget, file, binary.NativeEndian.AppendUint64(nil, 1<<60))
	if p.node(top, "file") == 0 {
		t.Error("the root was forgotten")
	}
	if e, _ := p.say(3, file, make([]byte, 16)); e != unix.ESTALE {
		t.Errorf("what was forgotten: %v", e)
	}
}

// TestFloodIsBounded: a peer that opens and looks up without end is refused at some point.
func TestFloodIsBounded(t *testing.T) {
	s, _ := bareServer(t)
	p := newPeer(s)
	file := p.node(p.node(topNode, "0"), "file")
	var last unix.Errno
	for range maxHandles + 10 {
		if last, _ = p.say(14, file, numbers(unix.O_RDONLY, 0)); last != 0 {
			break
		}
	}
	if last != unix.ENFILE && last != unix.EMFILE {
		t.Errorf("after %d opens: %v", maxHandles+10, last)
	}
}

// TestHeldChangesNothing: while the workspace is paused neither names nor open files change.
func TestHeldChangesNothing(t *testing.T) {
	s, root := bareServer(t)
	p := newPeer(s)
	top := p.node(topNode, "0")
	s.Hold(true)
	done := make(chan unix.Errno)
	go func() {
		e, _ := p.say(9, top, append(numbers(0o755, 0), "new\x00"...))
		done <- e
	}()
	select {
	case e := <-done:
		t.Fatalf("it was not held: %v", e)
	case <-time.After(50 * time.Millisecond):
	}
	s.Hold(false)
	if e := <-done; e != 0 {
		t.Error(e)
	}
	if _, err := os.Stat(root + "/new"); err != nil {
		t.Error(err)
	}
}

// TestStreamEnds: a stream that is cut, or that lies about lengths, ends the service.
func TestStreamEnds(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"nothing": nil, "half a header": make([]byte, 20), "no length": make([]byte, 40),
		"too long": append(numbers(1<<31, 1), make([]byte, 32)...), "cut": message(opLookup, 1, []byte("0"))[:41],
	} {
		s, _ := bareServer(t)
		done := make(chan error, 1)
		go func() { done <- s.Serve(Stream(strings.NewReader(string(bytes)), io.Discard)) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it goes on", name)
		}
	}
}

// FuzzRequests: whatever a peer sends, the server answers or ends, and nothing outside the
// root changes.
func FuzzRequests(f *testing.F) {
	s, root := bareServer(f)
	outside := filepath.Dir(root) + "/outside"
	if err := os.WriteFile(outside, []byte("untouched"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.Remove(outside) })
	rnd := rand.New(rand.NewPCG(1, 2))
	for op, kind := range shapes {
		body := make([]byte, kind.size)
		for i := range body {
			body[i] = byte(rnd.IntN(3))
		}
		for range kind.names {
			body = append(body, "dir\x00"...)
		}
		f.Add(op, uint64(2), body)
	}
	f.Add(uint32(opLookup), uint64(2), []byte("../outside\x00"))
	f.Add(uint32(opSetxattr), uint64(2), append(numbers(1, 0), "user.x\x00v"...))
	p := newPeer(s)
	f.Fuzz(func(t *testing.T, op uint32, node uint64, body []byte) {
		if len(body) > MaxMessage-inHeader {
			return
		}
		m := message(op, node%16, body)
		answer, _ := p.v.answer(m, p.out)
		r, err := parse(m)
		if err == nil && !r.silent() && op != opInterrupt && len(answer) < outHeader {
			t.Errorf("no answer to %d", op)
		}
		if len(answer) > 0 && int(binary.NativeEndian.Uint32(answer)) != len(answer) {
			t.Errorf("an answer of %d bytes says %d", len(answer), binary.NativeEndian.Uint32(answer))
		}
		if data, err := os.ReadFile(outside); err != nil || string(data) != "untouched" {
			t.Fatalf("outside: %q %v", data, err)
		}
	})
}
