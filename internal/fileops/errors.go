package fileops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Codes of errors.
const (
	CodeRequest    = "bad-request"  // the request is not understood, or contradicts itself
	CodePattern    = "bad-pattern"  // a glob or a regular expression that is none
	CodeNotFound   = "not-found"    // there is no such file or directory
	CodeIsDir      = "is-directory" // a file was wanted
	CodeNotDir     = "not-directory"
	CodeNotRegular = "not-regular" // a FIFO, a socket, a device
	CodeDenied     = "denied"      // the workspace, or the file's mode, does not allow it
	CodeOutside    = "outside"     // the path leads out of the directory that it is held to
	CodeNoMatch    = "no-match"    // the text to replace is not there
	CodeAmbiguous  = "ambiguous"   // it is there several times
	CodeChanged    = "changed"     // the file is not what the caller believes
	CodeTooLarge   = "too-large"
	CodeNoSpace    = "no-space"
	CodeCancelled  = "cancelled"
	CodeIO         = "io" // anything else that the system says
)

// Error is why something was not done. Nothing has been changed then, unless the
// message says so.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Operation string `json:"operation"`
	Subject   Path   `json:"subject,omitempty"` // the path or pattern that it is about
	Hint      string `json:"hint,omitempty"`
	Count     int    `json:"count,omitempty"` // ambiguous: of matches
	Lines     []int  `json:"lines,omitempty"` // ambiguous: where they are; no-match: where something like it is
}

func (e *Error) Error() string {
	if e.Hint != "" {
		return e.Message + "\nhint: " + e.Hint
	}
	return e.Message
}

func failed(code string, subject Path, message, hint string) *Error {
	return &Error{Code: code, Subject: Path(subject.short()), Message: message, Hint: hint}
}

// maxSubject bounds what is told of a path or a pattern, in bytes.
const maxSubject = 512

func (p Path) short() string { return string(p[:min(len(p), maxSubject)]) }

const deniedHint = "the workspace does not allow it, or the file's mode; `carrel explain --path PLACE` tells which rule holds"

// systems are what the system says, by what it means here.
var systems = []struct {
	is         error
	code, text string
	hint       string
}{
	{errOutside, CodeOutside, "%s leads out of its directory", ""},
	{fs.ErrNotExist, CodeNotFound, "there is no %s", "list_directory and glob show what is there"},
	{fs.ErrPermission, CodeDenied, "%s may not be used so: permission denied", deniedHint},
	{syscall.EROFS, CodeDenied, "%s can be read only", deniedHint},
	{syscall.EISDIR, CodeIsDir, "%s is a directory", "list_directory shows what is in it"},
	{syscall.ENOTDIR, CodeNotFound, "there is no %s: something on the way to it is no directory", "list_directory shows what is there"},
	{syscall.ENXIO, CodeNotRegular, "%s is no regular file", "read it with a command"},
	{syscall.ENOSPC, CodeNoSpace, "no space is left on the disk for %s", ""},
	{syscall.EDQUOT, CodeNoSpace, "the disk quota leaves no space for %s", ""},
	{syscall.EFBIG, CodeTooLarge, "%s would be larger than a file may be", ""},
	{syscall.ELOOP, CodeNotFound, "%s is a symlink that leads to itself, or was made one meanwhile", ""},
	{syscall.ENAMETOOLONG, CodeRequest, "%s is longer than a path may be", ""},
	{syscall.EINVAL, CodeRequest, "%s is no path", ""},
}

// told makes an Error of any error about a path.
func told(p Path, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return failed(CodeCancelled, p, "nobody waits for the answer any more", "")
	}
	for _, s := range systems {
		if errors.Is(err, s.is) {
			return failed(s.code, p, fmt.Sprintf(s.text, strconv.Quote(p.short())), s.hint)
		}
	}
	var at *os.PathError
	if errors.As(err, &at) {
		err = fmt.Errorf("%s: %w", at.Op, at.Err)
	}
	return failed(CodeIO, p, fmt.Sprintf("%q: %v", p.short(), err), "")
}
