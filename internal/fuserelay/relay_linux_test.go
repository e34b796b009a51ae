package fuserelay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/broker"
	"carrel/internal/interceptor"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// message is one as both sides send it: length, number and the rest of its header, then text.
func message(unique uint64, text string) []byte {
	m := make([]byte, answerHeader, answerHeader+len(text))
	binary.LittleEndian.PutUint32(m, uint32(answerHeader+len(text)))
	binary.LittleEndian.PutUint64(m[8:], unique)
	return append(m, text...)
}

// device is what stands for /dev/fuse: a socket that keeps the bounds of messages.
func device(t *testing.T) (ours, kernel *os.File) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, kernel = os.NewFile(uintptr(fds[0]), "device"), os.NewFile(uintptr(fds[1]), "kernel")
	t.Cleanup(func() { ours.Close(); kernel.Close() })
	return ours, kernel
}

// TestAnswersAreWhole: the device gets each message by one write; what answers no request is passed
// on beside the others.
func TestAnswersAreWhole(t *testing.T) {
	ours, kernel := device(t)
	var stream bytes.Buffer
	sent := []string{"one", "", strings.Repeat("x", 70<<10)}
	for i, text := range sent {
		stream.Write(message(uint64(i+1), text))
	}
	in, server := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- answers(in, ours) }()
	go func() {
		_, _ = server.Write(message(0, "a notice"))
		for b := range bytes.SplitSeq(stream.Bytes(), []byte("x")) { // in pieces of any size
			_, _ = server.Write(b)
			_, _ = server.Write([]byte("x"))
		}
	}()
	got, notices := []string{}, 0
	for buf := make([]byte, MaxMessage); len(got) < len(sent) || notices < 1; {
		n, err := kernel.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if unique := binary.LittleEndian.Uint64(buf[8:]); unique == 0 {
			notices++
		} else if got = append(got, string(buf[answerHeader:n])); int(unique) != len(got) {
			t.Errorf("answer %d comes as number %d", unique, len(got))
		}
	}
	for i := range sent {
		if got[i] != sent[i] {
			t.Errorf("answer %d has %d bytes, want %d", i, len(got[i]), len(sent[i]))
		}
	}
	server.CloseWithError(errors.New("the line is cut"))
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the line is cut") {
		t.Errorf("%v", err)
	}
}

// TestAnswersThatAreNone: a length that no message has, or a message without its end, ends the relay
// before the device sees any of it; the end of the stream between two messages is no fault.
func TestAnswersThatAreNone(t *testing.T) {
	length := func(n uint32) []byte {
		m := message(7, "text")
		binary.LittleEndian.PutUint32(m, n)
		return m
	}
	for want, bad := range map[string][]byte{
		"": {}, "an answer of 0 bytes": length(0), "an answer of 15 bytes": length(answerHeader - 1),
		"an answer of 1064961 bytes": length(MaxMessage + 1), "an answer of 4294967295 bytes": length(1<<32 - 1),
		"reading an answer: unexpected EOF": length(answerHeader + 5), "reading an answer: unexpected": message(7, "")[:9],
	} {
		ours, kernel := device(t)
		err := answers(bytes.NewReader(append(message(1, "good"), bad...)), ours)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		ours.Close()
		buf := make([]byte, 100)
		if n, err := kernel.Read(buf); err != nil || string(buf[answerHeader:n]) != "good" {
			t.Errorf("%q: the good answer was %q, %v", want, buf[:n], err)
		}
		if n, err := kernel.Read(buf); !errors.Is(err, io.EOF) {
			t.Errorf("%q: the device got %q, %v", want, buf[:n], err)
		}
	}
}

// TestRequestsSayWhoAsks: each request goes on as one write, with the label of the process that asks
// in the place of its number, and nothing else changed.
func TestRequestsSayWhoAsks(t *testing.T) {
	labelled := exec.Command("sleep", "60")
	if err := labelled.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = labelled.Process.Kill(); _ = labelled.Wait() }()
	const label = 4711
	limit := unix.Rlimit{Cur: 1<<50 + label, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(labelled.Process.Pid, unix.RLIMIT_RTTIME, &limit, nil); err != nil {
		t.Skip("this user's limit of real time is lowered: ", err)
	}
	if got := sandbox.LabelOf(labelled.Process.Pid); got != label {
		t.Fatalf("the label is %d", got)
	}
	ours, kernel := device(t)
	request := func(pid int) []byte {
		m := bytes.Repeat([]byte{0xee}, 60)
		binary.NativeEndian.PutUint32(m[callerAt:], uint32(pid))
		return m
	}
	short := []byte("no header")
	for _, m := range [][]byte{request(labelled.Process.Pid), request(os.Getpid()), short} {
		if _, err := kernel.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	var got [][]byte
	err := requests(ours, writerFunc(func(b []byte) (int, error) {
		if got = append(got, bytes.Clone(b)); len(got) == 3 {
			return 0, io.ErrClosedPipe
		}
		return len(b), nil
	}))
	if !errors.Is(err, io.ErrClosedPipe) || len(got) != 3 || !bytes.Equal(got[0], request(label)) ||
		!bytes.Equal(got[1], request(int(sandbox.LabelOf(0)))) || !bytes.Equal(got[2], short) {
		t.Errorf("%x, %v", got, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestPlacesOfTheCommandLine: what is mounted where is checked before anything is.
func TestPlacesOfTheCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"": "takes pairs", "0": "takes pairs", "0 /a 1": "takes pairs", "/0 /a": `"/0" is no path below`, ". /a": `"." is no path below`,
		"../0 /a": "is no path below", "0/../.. /a": "is no path below", "0 a": `"a" is no absolute path`, "0 /": `"/" is no absolute path`,
		"0 /a/../b": "is no absolute path", "0 /a/": "is no absolute path", "0 /a 1 b": `"b" is no absolute path`,
	} {
		if err := relay(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
	if _, err := Served(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not what was mounted") {
		t.Errorf("a directory of this disk: %v", err)
	}
	if _, err := Served("/nowhere/at/all"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestMountPoints: what is made to mount on is empty, and only that goes afterwards.
func TestMountPoints(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"file": "text", "dir/x": "x"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(dir+"/from/"+name), 0o755),
			os.WriteFile(dir+"/from/"+name, []byte(data), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"file": "/to/a/file", "dir": "/to/b/dir"} {
		for range 2 { // of an earlier relay
			if err := mountPoint(dir+"/from/"+from, dir+to); err != nil {
				t.Fatal(err)
			}
		}
		was, err1 := os.Stat(dir + "/from/" + from)
		is, err2 := os.Stat(dir + to)
		if err1 != nil || err2 != nil || was.IsDir() != is.IsDir() || !is.IsDir() && is.Size() != 0 {
			t.Errorf("%s: %v, %v, %v", to, is, err1, err2)
		}
		unbind(dir + to) // nothing is mounted there: it is not ours
		if _, err := os.Stat(dir + to); err != nil {
			t.Error(err)
		}
	}
	if err := mountPoint(dir+"/none", dir+"/to/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	began := time.Now()
	for _, at := range []string{dir, dir + "/none"} {
		awaitEnd(at)
	}
	if took := time.Since(began); took > endTime/2 {
		t.Errorf("what is no mount is waited for %s", took)
	}
}

// everything is allowed, and nothing recorded.
type everything struct{}

func (everything) Decide(*broker.Change) broker.Verdict { return broker.Verdict{Allowed: true} }
func (everything) Before(*broker.Change) error          { return nil }
func (everything) After(*broker.Change, error)          {}

// serve serves a directory and a file to a relay, until stop.
func serve(t *testing.T, dir string, in io.Reader, out io.Writer) (ended chan error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s, err := interceptor.New(interceptor.Config{Roots: []interceptor.Root{{Path: dir, FD: fd}}, Decider: everything{},
		Recorder: everything{}})
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() {
		ended <- s.Serve(interceptor.Stream(in, out))
		s.Close()
	}()
	return ended
}

// TestRelayMounts: programs work in what is served at the places, of which one is a file; with the
// stream the mounts end, and the empty file below one goes.
func TestRelayMounts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/f", []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := start(t, "0", "/run/place", "0/f", "/run/one/file")
	ended := serve(t, dir, c.out, c.in)
	var st, one unix.Stat_t
	if err := errors.Join(unix.Stat(dir, &st), unix.Stat(dir+"/f", &one)); err != nil {
		t.Fatal(err)
	}
	c.ready(t, st.Ino, one.Ino)
	root := c.root()
	// A program of its own: this one serves, and its runtime would poll what it opens.
	work := exec.Command("/bin/sh", "-c", `cat "$0/run/one/file" && printf inside >"$0/run/place/new"`, root)
	if data, err := work.CombinedOutput(); err != nil || string(data) != "outside" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := os.ReadFile(dir + "/new"); err != nil || string(data) != "inside" {
		t.Errorf("%q, %v", data, err)
	}
	c.in.Close()
	if status := c.wait(t); status != 0 {
		t.Errorf("it ends with %d: %s", status, c.said())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if list, err := c.run.Readdirnames(-1); err != nil || len(list) != 2 { // the directories stay
		t.Errorf("%q, %v", list, err)
	}
	for _, name := range []string{"one/file", "place/f"} {
		var left unix.Stat_t
		if err := unix.Fstatat(int(c.run.Fd()), name, &left, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// TestRelayOfALiar: a server that answers nonsense ends the relay with its reason, and leaves no mount.
func TestRelayOfALiar(t *testing.T) {
	c := start(t, "0", "/run/place")
	if _, err := c.in.Write(bytes.Repeat([]byte{0xff}, answerHeader)); err != nil {
		t.Fatal(err)
	}
	if status := c.wait(t); status != failed || !strings.Contains(c.said(), "an answer of 4294967295 bytes") {
		t.Errorf("%d: %s", status, c.said())
	}
	if list, err := c.run.Readdirnames(-1); err != nil || len(list) != 0 {
		t.Errorf("it leaves %q, %v", list, err)
	}
}
