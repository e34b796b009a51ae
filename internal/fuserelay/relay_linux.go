package fuserelay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// answerHeader is the size of struct fuse_out_header of linux/fuse.h.
const answerHeader = 16

// Run mounts a file system, binds its first directories at the places, each of which is
// there afterwards, and copies messages until the stream or the mount ends. It calls ready
// when all places are mounted. Nothing is mounted any more when it returns.
func Run(in io.Reader, out io.Writer, places []string, ready func()) error {
	point := "/run/carrel-relay-" + strconv.Itoa(os.Getpid())
	if err := os.Mkdir(point, 0o700); err != nil {
		return err
	}
	defer os.Remove(point)
	device, err := Mount(point)
	if err != nil {
		return err
	}
	defer unix.Unmount(point, unix.MNT_DETACH)
	defer device.Close()
	ended := make(chan error, 2)
	go func() { ended <- requests(device, out) }()
	go func() { ended <- answers(in, device) }()
	bound := make(chan error, 1)
	go func() { bound <- bind(point, places) }()
	defer func() {
		for _, place := range places {
			_ = unix.Unmount(place, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
	}()
	select {
	case err = <-bound:
	case err = <-ended:
		return err
	}
	if err != nil {
		return err
	}
	ready()
	return <-ended
}

// bind makes the places and mounts each directory of the file system on its own.
func bind(point string, places []string) error {
	for i, place := range places {
		if err := os.MkdirAll(place, 0o755); err != nil {
			return err
		}
		from := point + "/" + strconv.Itoa(i)
		if err := unix.Mount(from, place, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting on %s: %w", place, err)
		}
	}
	return nil
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
		if _, err := out.Write(buf[:n]); err != nil {
			return fmt.Errorf("passing a request on: %w", err)
		}
	}
}

// answers copies what the server says. The device takes one whole message for each write.
func answers(in io.Reader, device *os.File) error {
	buf := make([]byte, MaxMessage)
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
		_, err := unix.Write(int(device.Fd()), buf[:length])
		if err == unix.ENODEV {
			return nil
		}
		if err != nil && err != unix.ENOENT && err != unix.EINTR { // its caller waits no more
			return fmt.Errorf("passing an answer on: %w", err)
		}
	}
}
