package fileops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// maxCounted bounds how much of a file is read to count its lines and to name its
// content, in bytes.
const maxCounted = 64 << 20

// maxSkipped bounds how far into a file lines are counted at all.
const maxSkipped = 8 << 30

func (r *ReadFile) do(ctx context.Context, at *place) (any, error) {
	f, st, err := openRegular(at, r.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &FileContent{Size: st.Size(), Mode: modeText(st), Lines: -1}
	s := &slicer{ctx: ctx, most: r.MaxBytes, first: max(r.Offset, 1), lines: r.Limit, from: r.ByteOffset, line: 1}
	if s.most == 0 {
		s.most = usualRead
	}
	if st.Size() <= maxCounted {
		s.sum = sha256.New()
	}
	if r.ByteOffset > 0 && s.sum == nil { // nothing before is looked at
		if s.at, err = f.Seek(r.ByteOffset, io.SeekStart); err != nil {
			return nil, told(r.Path, err)
		}
	}
	if err := s.read(f); err != nil {
		return nil, told(r.Path, err)
	}
	if s.beyond(r) {
		return nil, failed(CodeRequest, r.Path, fmt.Sprintf("%q has %d lines, and %d bytes: there is nothing at that place", r.Path.short(), s.total(), s.at), "")
	}
	s.tell(out, r)
	return out, nil
}

// openRegular opens a regular file for reading, without waiting for whoever might be
// at the other end of something else.
func openRegular(at *place, p Path) (*os.File, fs.FileInfo, error) {
	st, err := at.stat(p)
	if err == nil {
		err = wantRegular(p, st)
	}
	if err != nil {
		return nil, nil, told(p, err)
	}
	f, err := at.open(p, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, told(p, err)
	}
	if st, err = f.Stat(); err == nil {
		err = wantRegular(p, st) // it may be another one by now
	}
	if err != nil {
		f.Close()
		return nil, nil, told(p, err)
	}
	return f, st, nil
}

func wantRegular(p Path, st fs.FileInfo) error {
	switch {
	case st.Mode().IsRegular():
		return nil
	case st.IsDir():
		return failed(CodeIsDir, p, fmt.Sprintf("%q is a directory", p.short()), "list_directory shows what is in it")
	}
	return failed(CodeNotRegular, p, fmt.Sprintf("%q is a %s and no regular file", p.short(), typeOf(st)), "a command can use it")
}

// slicer takes a part of a file while it reads all of it.
type slicer struct {
	ctx          context.Context
	most         int
	first, lines int64 // wanted
	from         int64 // likewise, in bytes
	sum          hash.Hash

	at, line  int64 // where the next byte is
	head      []byte
	out       []byte
	start     int64 // of out; -1 before
	startLine int64
	begun     bool
	full      bool // no more is wanted, or fits
	cut       bool // there was more
	nul       bool
	broken    bool // the last line has no end
	counted   bool
}

func (s *slicer) read(f io.Reader) error {
	buf := make([]byte, 128<<10)
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf)
		if n > 0 {
			s.take(buf[:n])
		}
		if err == io.EOF {
			s.counted = s.sum != nil
			return nil
		} else if err != nil {
			return err
		}
		if s.sum == nil && (s.cut || s.at > maxSkipped) {
			return nil
		}
	}
}

// take goes through what was read, line by line.
func (s *slicer) take(b []byte) {
	if s.sum != nil {
		s.sum.Write(b)
	}
	if miss := sniffed - len(s.head); miss > 0 {
		s.head = append(s.head, b[:min(miss, len(b))]...)
	}
	if !s.nul && bytes.IndexByte(b, 0) >= 0 {
		s.nul = true
	}
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		ends := n > 0
		if !ends {
			n = len(b)
		}
		s.keep(b[:n])
		s.at += int64(n)
		if s.broken = !ends; ends {
			s.line++
		}
		b = b[n:]
	}
}

// keep adds the wanted part of a piece of one line.
func (s *slicer) keep(piece []byte) {
	at := s.at
	switch {
	case s.from > 0 && at < s.from:
		skip := min(s.from-at, int64(len(piece)))
		piece, at = piece[skip:], at+skip
	case s.from == 0 && s.line < s.first:
		return
	}
	if len(piece) == 0 {
		return
	}
	if !s.begun {
		s.begun, s.start, s.startLine = true, at, s.line
	}
	if s.full || s.lines > 0 && s.line >= s.first+s.lines {
		s.full, s.cut = true, true
		return
	}
	if room := s.most - len(s.out); len(piece) > room {
		piece, s.full, s.cut = piece[:room], true, true
	}
	s.out = append(s.out, piece...)
}

// total is the number of lines so far.
func (s *slicer) total() int64 {
	if s.broken {
		return s.line
	}
	return s.line - 1
}

// beyond says whether a part was wanted behind the end.
func (s *slicer) beyond(r *ReadFile) bool {
	return !s.begun && (r.Offset > 1 && r.Offset > s.total()+1 || r.ByteOffset > s.at)
}

// tell completes the answer.
func (s *slicer) tell(out *FileContent, r *ReadFile) {
	if s.counted {
		out.Lines, out.SHA256 = s.total(), hex.EncodeToString(s.sum.Sum(nil))
	}
	if out.Kind = kindOf(s.head, s.nul); out.Kind == "text" && s.cut {
		s.wholeEnd()
	}
	out.Encoding, out.Content = UTF8, string(s.out)
	if out.Kind != "text" || !utf8.Valid(s.out) {
		out.Encoding, out.Content = Base64, base64.StdEncoding.EncodeToString(s.out)
	}
	if r.ByteOffset == 0 && s.begun {
		out.First = s.startLine
	}
	if out.Truncated = s.cut; !s.cut {
		return
	}
	out.NextByteOffset = s.start + int64(len(s.out))
	if n := len(s.out); r.ByteOffset == 0 && n > 0 && s.out[n-1] == '\n' {
		out.NextOffset = s.startLine + int64(bytes.Count(s.out, []byte("\n")))
	}
}

// wholeEnd lets a cut text end with a line if it has one, else with a character.
func (s *slicer) wholeEnd() {
	if n := bytes.LastIndexByte(s.out, '\n'); n >= 0 {
		s.out = s.out[:n+1]
		return
	}
	for back := 1; back <= min(utf8.UTFMax, len(s.out)); back++ {
		if tail := s.out[len(s.out)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) && back < len(s.out) {
				s.out = s.out[:len(s.out)-back]
			}
			return
		}
	}
}

func modeText(st fs.FileInfo) string {
	m := st.Mode()
	n := uint32(m.Perm())
	for i, bit := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if m&bit != 0 {
			n |= 0o1000 << i
		}
	}
	return fmt.Sprintf("%04o", n)
}

// sniffed is how much of a file says what it is.
const sniffed = 512

// magics are the beginnings of files that are told by their media type.
var magics = []struct{ begins, kind string }{
	{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"},
	{"BM", "image/bmp"}, {"%PDF-", "application/pdf"}, {"\x7fELF", "application/x-executable"}, {"PK\x03\x04", "application/zip"},
	{"\x1f\x8b", "application/gzip"}, {"SQLite format 3\x00", "application/vnd.sqlite3"},
}

// kindOf tells text from pictures and other bytes.
func kindOf(head []byte, nul bool) string {
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return "image/webp"
	}
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.begins)) && (nul || m.kind == "application/pdf") {
			return m.kind
		}
	}
	if nul {
		return "binary"
	}
	return "text"
}
