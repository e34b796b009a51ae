package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	magic      = "carrel log 1 "
	headerSize = int64(len(magic) + 19 + 1)
	maxOffset  = int64(1) << 62 // further than any log comes, and far from overflowing
	maxName    = 240            // what is appended to a name stays below 255 bytes
)

// header is the first line of a file whose first byte has the offset base.
func header(base int64) []byte { return fmt.Appendf(nil, "%s%019d\n", magic, base) }

// parseHeader gives the offset of the first line of a file.
func parseHeader(b []byte) (base int64, ok bool) {
	digits, found := strings.CutPrefix(string(b), magic)
	if !found || int64(len(b)) != headerSize || digits[19] != '\n' || strings.Trim(digits[:19], "0123456789") != "" {
		return 0, false
	}
	base, err := strconv.ParseInt(digits[:19], 10, 64)
	return base, err == nil && base <= maxOffset
}

// part is one of a log's two files: the offsets [base, end) are in it.
type part struct {
	file      *os.File
	base, end int64
}

// readPart looks at an open file. One whose first line is missing or damaged is
// no part of a log.
func readPart(f *os.File) (p part, ok bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return part{}, false, err
	}
	first := make([]byte, headerSize)
	if _, err := f.ReadAt(first, 0); err == io.EOF {
		return part{}, false, nil
	} else if err != nil {
		return part{}, false, err
	}
	base, ok := parseHeader(first)
	return part{f, base, base + max(info.Size()-headerSize, 0)}, ok, nil
}

// older is the name of the file that holds what came before NAME.
func older(name string) string { return name + ".1" }

// checkName refuses what is not one component of a path.
func checkName(dir *os.File, name string) error {
	var wrong string
	switch {
	case name == "" || name == "." || name == "..":
		wrong = "want a name"
	case strings.ContainsAny(name, "/\x00"):
		wrong = "want a name without slashes and NULs"
	case len(name) > maxName:
		wrong = fmt.Sprintf("want at most %d bytes", maxName)
	default:
		return nil
	}
	return pathError("open", dir, name, errors.New(wrong))
}

// checkLog refuses a log's own second file as a name for another log, too.
func checkLog(dir *os.File, name string) error {
	if strings.HasSuffix(name, older("")) {
		return pathError("open", dir, name, errors.New(`the ending ".1" is for what a log has rotated`))
	}
	return checkName(dir, name)
}

func pathError(op string, dir *os.File, name string, err error) error {
	var inner *os.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &os.PathError{Op: op, Path: filepath.Join(dir.Name(), name), Err: err}
}
