package fuserelay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// answerHeader is the size of struct fuse_out_header of linux/fuse.h.
const answerHeader = 16

// Place is a file or directory of the file system that is served, and where it is mounted.
type Place struct {
	From string // below the file system's root, which has directories by their numbers
	To   string // absolute
}

// Run mounts a file system, binds what is named of it at the places, and copies messages until
// the stream or the mount ends. It calls ready when all places are mounted. Nothing is mounted any
// more when it returns; directories that were made for it stay.
func Run(in io.Reader, out io.Writer, places []Place, ready func() error) error {
	point := "/run/carrel-relay-" + strconv.Itoa(os.Getpid())
	if err := os.Mkdir(point, 0o700); err != nil {
		return err
	}
	defer os.Remove(point)
	defer func() {
		for _, place := range slices.Backward(places) {
			unbind(place.To)
		}
	}()
	return at(point, in, out, func() error {
		if err := Bind(point, places); err != nil {
			return err
		}
		return ready()
	})
}

// at mounts a file system at a directory and copies messages, as Run does. It calls ready, which may
// ask the server, when that is mounted.
func at(point string, in io.Reader, out io.Writer, ready func() error) error {
	device, err := Mount(point)
	if err != nil {
		return err
	}
	defer unix.Unmount(point, unix.MNT_DETACH)
	defer device.Close()
	ended := make(chan error, 2)
	go func() { ended <- requests(device, out) }()
	go func() { ended <- answers(in, device) }()
	readied := make(chan error, 1)
	go func() { readied <- ready() }()
	select {
	case err = <-readied:
	case err = <-ended:
		return err
	}
	if err != nil {
		return err
	}
	return <-ended
}

// Bind makes the places and mounts each on its own.
func Bind(point string, places []Place) error {
	for _, place := range places {
		from := point + "/" + place.From
		awaitEnd(place.To)
		if err := mountPoint(from, place.To); err != nil {
			return err
		}
		if err := unix.Mount(from, place.To, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting on %s: %w", place.To, err)
		}
	}
	return nil
}

// endTime is how long the end of an earlier relay is waited for, and endPeriod how often it is looked for.
const (
	endTime   = 10 * time.Second
	endPeriod = 20 * time.Millisecond
)

// awaitEnd waits while the mount of an earlier relay, which has no server any more, is still there.
func awaitEnd(to string) {
	for began := time.Now(); time.Since(began) < endTime; time.Sleep(endPeriod) {
		if _, err := os.Stat(to); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// mountPoint makes what a file or directory can be mounted on.
func mountPoint(from, to string) error {
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// unbind ends a mount. The empty file that was below one is a mount point's, and goes.
func unbind(to string) {
	if unix.Unmount(to, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) != nil {
		return
	}
	if st, err := os.Lstat(to); err == nil && st.Mode().IsRegular() && st.Size() == 0 {
		_ = os.Remove(to)
	}
}

// requests copies what the kernel asks. The device gives one whole message for each read.
func requests(device *os.File, out io.Writer) error {
	buf := make([]byte, MaxMessage)
	for {
		n, err := unix.Read(int(device.Fd()), buf)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN || err == unix.ENOENT: // that request was withdrawn
			continue
		case err == unix.ENODEV:
			return nil // it was unmounted
		case err != nil:
			return fmt.Errorf("reading a request: %w", err)
		}
		labelled(buf[:n])
		if _, err := out.Write(buf[:n]); err != nil {
			return fmt.Errorf("passing a request on: %w", err)
		}
	}
}

// callerAt is where struct fuse_in_header of linux/fuse.h has the number of who asks.
const callerAt = 32

// labelled puts the label of who asks in the place of its number, which means nothing outside.
func labelled(request []byte) {
	if len(request) >= callerAt+4 {
		caller := request[callerAt : callerAt+4]
		binary.NativeEndian.PutUint32(caller, uint32(sandbox.LabelOf(int(binary.NativeEndian.Uint32(caller)))))
	}
}

// answers copies what the server says. The device takes one whole message for each write.
func answers(in io.Reader, device *os.File) error {
	buf := make([]byte, MaxMessage)
	told := newNotices()
	defer told.end()
	go told.pass(device)
	for {
		if _, err := io.ReadFull(in, buf[:answerHeader]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading an answer: %w", err)
		}
		length := binary.LittleEndian.Uint32(buf)
		if length < answerHeader || length > MaxMessage {
			return fmt.Errorf("an answer of %d bytes", length)
		}
		if _, err := io.ReadFull(in, buf[answerHeader:length]); err != nil {
			return fmt.Errorf("reading an answer: %w", err)
		}
		if binary.LittleEndian.Uint64(buf[8:]) == 0 {
			told.add(bytes.Clone(buf[:length]))
			continue
		}
		if err := write(device, buf[:length]); err != nil {
			return fmt.Errorf("passing an answer on: %w", err)
		}
	}
}

// write passes a message on, unless its caller waits no more or nothing is mounted.
func write(device *os.File, message []byte) error {
	_, err := unix.Write(int(device.Fd()), message)
	if err == unix.ENODEV || err == unix.ENOENT || err == unix.EINTR {
		return nil
	}
	return err
}

// notices are messages that answer no request. The kernel may take one only when a program
// has got its answer; so they are passed on beside the answers.
type notices struct {
	mu    sync.Mutex
	cond  *sync.Cond
	queue [][]byte
	ended bool
}

func newNotices() *notices {
	n := new(notices)
	n.cond = sync.NewCond(&n.mu)
	return n
}

func (n *notices) add(message []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, message)
	n.cond.Signal()
}

func (n *notices) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	n.cond.Signal()
}

func (n *notices) pass(device *os.File) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		for len(n.queue) == 0 && !n.ended {
			n.cond.Wait()
		}
		if n.ended {
			return
		}
		queue := n.queue
		n.queue = nil
		n.mu.Unlock()
		for _, message := range queue {
			_ = write(device, message) // what is not remembered cannot be forgotten
		}
		n.mu.Lock()
	}
}
