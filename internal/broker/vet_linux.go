package broker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// maxVetted bounds the files that are read to vet a change, in bytes, see Verdict.Most.
const maxVetted = 1 << 20

var errTooLong = errors.New("it is too long to be looked at")

// replaceVetted carries out a rename over a file whose content matters. What
// was read is what is put there, in a file of our own: whoever still has the
// old one open, mapped or linked under another name changes nothing by it.
func (w *worker) replaceVetted(ch *Change, v Verdict) error {
	after, st, err := readAt(ch.Dir, ch.Name, v.Most)
	if err != nil {
		return err
	}
	before, _, err := readAt(ch.ToDir, ch.ToName, v.Most)
	if err != nil && err != unix.ENOENT {
		return err
	}
	if err := v.Vet(before, after); err != nil {
		v.Rule += ": " + err.Error()
		return w.refuse(ch, v)
	}
	if !w.trap.Valid(w.call.ID) {
		return errAnswered
	}
	ch.Wait, ch.TID, ch.Copied = w.wait, w.call.TID, true
	if err := w.b.config.Recorder.Before(ch); err != nil {
		return errno(err)
	}
	err = putCopy(ch, after, &st)
	w.b.config.Recorder.After(ch, err)
	return err
}

// putCopy writes the copy beside its place and renames it there.
func putCopy(ch *Change, data []byte, like *unix.Stat_t) error {
	var random [8]byte
	_, _ = rand.Read(random[:])
	name := ".carrel-" + hex.EncodeToString(random[:])
	fd, err := unix.Openat(ch.ToDir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(os.FileMode(like.Mode & 0o777))
	}
	if err == nil {
		err = setModified(fd, like.Mtim)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		flags := uint(0)
		if ch.New {
			flags = renameNoReplace
		}
		err = unix.Renameat2(ch.ToDir, name, ch.ToDir, ch.ToName, flags)
	}
	if err != nil {
		_ = unix.Unlinkat(ch.ToDir, name, 0)
		return err
	}
	return unix.Unlinkat(ch.Dir, ch.Name, 0)
}

// readAt reads a small regular file by a pinned directory.
func readAt(dir int, name string, most int64) (data []byte, st unix.Stat_t, err error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, st, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, unix.EACCES
	}
	data, err = read(fd, most)
	return data, st, err
}
