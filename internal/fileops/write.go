package fileops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

func (r *WriteFile) do(ctx context.Context, at *place) (any, error) {
	content, err := r.bytes()
	if err != nil {
		return nil, err
	}
	mode, _ := parseMode(r.Mode)
	out := &Written{Bytes: int64(len(content)), SHA256: sumOf(content)}
	// What to do is found out by reading, and looked at again with the file open for
	// writing; whoever makes or removes it in between is met by trying again.
	for range 3 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		old, err := look(at, r.Path, int64(MaxEdited))
		if err != nil {
			return nil, err
		}
		if err := old.expected(r.Expect); err != nil {
			return nil, err
		}
		if old == nil {
			err = r.create(at, content, mode)
		} else {
			out.Written, err = old.become(content, mode)
		}
		if again := (*retry)(nil); errors.As(err, &again) && (old == nil || r.Expect == "") {
			continue
		}
		if err != nil {
			return nil, told(r.Path, err)
		}
		if old == nil {
			out.Written, out.Created = true, true
		}
		return out, nil
	}
	return nil, changed(r.Path)
}

// bytes is the content as it goes to the disk.
func (r *WriteFile) bytes() ([]byte, error) {
	content := []byte(r.Content)
	if r.Encoding == Base64 {
		var err error
		if content, err = base64.StdEncoding.Strict().DecodeString(r.Content); err != nil {
			return nil, errors.New("content is no base64, as the encoding says")
		}
	}
	if len(content) > MaxContent {
		return nil, failed(CodeTooLarge, r.Path, fmt.Sprintf("the content has %d bytes, more than %d", len(content), MaxContent), "write it with a command")
	}
	return content, nil
}

// create makes a new file. What fails in the middle is removed again.
func (r *WriteFile) create(at *place, content []byte, mode int) error {
	perm := os.FileMode(0o666)
	if mode >= 0 {
		perm = os.FileMode(mode)
	}
	open := func(flags int) (*os.File, error) {
		return at.open(r.Path, os.O_WRONLY|os.O_CREATE|flags, perm)
	}
	f, err := open(os.O_EXCL)
	if errors.Is(err, fs.ErrNotExist) && (r.CreateParents == nil || *r.CreateParents) {
		var made []Path
		if made, err = at.parents(r.Path); err == nil {
			f, err = open(os.O_EXCL)
		}
		if err != nil {
			at.unmake(made)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		// Somebody was faster, or it is a symlink to what is not there: that is made.
		if st, e := at.lstat(r.Path); e != nil || st.Mode()&fs.ModeSymlink == 0 {
			return &retry{err}
		}
		if f, err = open(0); err == nil && !isEmpty(f) {
			f.Close()
			return &retry{fs.ErrExist}
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && mode >= 0 {
		err = f.Chmod(os.FileMode(mode)) // whatever the umask is
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = at.remove(r.Path)
	}
	return err
}

func isEmpty(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode().IsRegular() && st.Size() == 0
}

// retry is something else at a path than was there a moment ago.
type retry struct{ err error }

func (r *retry) Error() string { return r.err.Error() }

func changed(p Path) *Error {
	return failed(CodeChanged, p, fmt.Sprintf("%q is not what was expected: it was changed meanwhile", p.short()), "read it again")
}

// existing is a file as it was found.
type existing struct {
	at      *place
	path    Path
	st      fs.FileInfo
	known   bool // content could be read, and is all of it
	content []byte
}

// look reads what is at a path, nil where nothing is. A file that is larger than most,
// or may be written and not read, is known by its state alone.
func look(at *place, p Path, most int64) (*existing, error) {
	f, st, err := openRegular(at, p)
	if err != nil {
		switch e := told(p, err); {
		case e.Code == CodeNotFound && errors.Is(exists(at, p), fs.ErrNotExist):
			return nil, nil
		case e.Code == CodeDenied:
			if st, err := at.stat(p); err == nil {
				return &existing{at: at, path: p, st: st}, nil
			}
			return nil, e
		default:
			return nil, e
		}
	}
	defer f.Close()
	old := &existing{at: at, path: p, st: st}
	if st.Size() <= most {
		if old.content, err = io.ReadAll(io.LimitReader(f, most+1)); err != nil {
			return nil, told(p, err)
		}
		old.known = int64(len(old.content)) <= most
	}
	return old, nil
}

func exists(at *place, p Path) error {
	_, err := at.stat(p)
	return err
}

// expected says whether it is what the caller believes.
func (x *existing) expected(sum string) error {
	switch {
	case sum == "", x == nil && sum == Absent:
		return nil
	case x == nil:
		return failed(CodeNotFound, "", "the file that was expected is not there", "read the directory again")
	case sum == Absent:
		return failed(CodeChanged, x.path, fmt.Sprintf("%q is there already, and was expected not to be", x.path.short()), "read it, and give its SHA-256 as expect to replace it")
	case !x.known:
		return failed(CodeTooLarge, x.path, fmt.Sprintf("%q cannot be compared with what was expected: it cannot be read, or has more than %d bytes", x.path.short(), MaxEdited), "")
	case sumOf(x.content) != sum:
		return changed(x.path)
	}
	return nil
}

// become gives a file another content, in place, and a mode where that is not -1. It
// says whether anything had to be changed.
func (x *existing) become(content []byte, mode int) (wrote bool, err error) {
	sameMode := mode < 0 || int(x.st.Mode().Perm()) == mode
	same := x.known && bytes.Equal(x.content, content)
	if same && sameMode {
		return false, nil
	}
	if same {
		return true, x.chmod(mode)
	}
	f, err := x.at.open(x.path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, &retry{err}
	} else if err != nil {
		return false, err
	}
	st, err := f.Stat()
	if err == nil && (!os.SameFile(st, x.st) || st.Size() != x.st.Size() || !st.ModTime().Equal(x.st.ModTime())) {
		err = &retry{fmt.Errorf("%q was changed meanwhile", x.path.short())}
	}
	if err == nil {
		err = x.over(f, content)
	}
	if err == nil && !sameMode {
		err = f.Chmod(os.FileMode(mode))
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err == nil, err
}

// chmod gives it a mode, if it still is the file that was found.
func (x *existing) chmod(mode int) error {
	f, err := x.at.open(x.path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !os.SameFile(st, x.st) {
		return changed(x.path)
	}
	return f.Chmod(os.FileMode(mode))
}

// over writes content over what a file has. Where that fails the old bytes are put
// back: what could not be written was new, so there is room for them.
func (x *existing) over(f *os.File, content []byte) error {
	var err error
	if more := int64(len(content)) - x.st.Size(); more > 0 && x.known {
		// The part that needs room comes first, while nothing is lost.
		_, err = f.WriteAt(content[x.st.Size():], x.st.Size())
	}
	if err == nil {
		_, err = f.WriteAt(content, 0)
	}
	if err == nil {
		err = f.Truncate(int64(len(content)))
	}
	if err == nil {
		return nil
	}
	if !x.known {
		return fmt.Errorf("%w; the file has lost what it had, `carrel undo` brings it back", err)
	}
	if _, e := f.WriteAt(x.content, 0); e != nil {
		return fmt.Errorf("%w; its old content could not be put back, `carrel undo` brings it back", err)
	}
	_ = f.Truncate(x.st.Size())
	return err
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
