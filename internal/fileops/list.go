package fileops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxNames bounds how many names one request looks at, in one directory or in all.
const maxNames = 1 << 20

// deniedPath is a file that the walls have made. What they show where something is
// hidden lies on the same file system, has no rights at all, and is nowhere else.
const deniedPath = "/run/carrel/denied"

func (r *ListDirectory) do(ctx context.Context, at *place) (any, error) {
	f, err := at.openDir(r.Path)
	if err != nil {
		return nil, told(r.Path, at.notDir(r.Path, err))
	}
	defer f.Close()
	out := &Listing{Entries: []Entry{}}
	entries, err := readNames(ctx, f, maxNames)
	if err != nil && !errors.Is(err, errMany) {
		return nil, told(r.Path, err)
	} else if err != nil {
		out.Incomplete = err.Error()
	}
	if !r.Hidden {
		before := len(entries)
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
		out.HiddenLeft = before - len(entries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	out.Total = len(entries)
	var from, to int
	from, to, out.NextOffset = page(len(entries), r.Limit, r.Offset, usualList)
	out.Truncated = out.NextOffset > 0 || out.Incomplete != ""
	mask, _ := os.Lstat(deniedPath)
	for _, e := range entries[from:to] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		out.Entries = append(out.Entries, at.describe(r.Path, st, mask))
	}
	return out, nil
}

// page gives the part of a list that was asked for, and where the next begins.
func page(all, limit, offset, usual int) (from, to, next int) {
	if limit == 0 {
		limit = usual
	}
	from = min(offset, all)
	if to = min(from+limit, all); to < all {
		next = to
	}
	return from, to, next
}

func (a *place) describe(dir Path, st, mask fs.FileInfo) Entry {
	e := Entry{Name: Path(st.Name()), Type: typeOf(st), Size: st.Size(), Mode: modeText(st), Time: st.ModTime()}
	if mask != nil && st.Mode().Perm() == 0 && sameDevice(mask, st) {
		return Entry{Name: e.Name, Type: TypeDenied, Mode: e.Mode}
	}
	if e.Type == TypeSymlink {
		target, _ := a.readlink(Path(filepath.Join(string(dir), st.Name())))
		e.Target = Path(target)
	}
	return e
}

func typeOf(st fs.FileInfo) string {
	switch m := st.Mode(); {
	case m.IsRegular():
		return TypeFile
	case m.IsDir():
		return TypeDir
	case m&fs.ModeSymlink != 0:
		return TypeSymlink
	case m&fs.ModeNamedPipe != 0:
		return TypeFIFO
	case m&fs.ModeSocket != 0:
		return TypeSocket
	}
	return TypeDevice
}

func (a *place) openDir(p Path) (*os.File, error) {
	f, err := a.open(p, os.O_RDONLY|onlyDir, 0)
	return wantDir(string(p), f, err)
}

// openDir opens a directory and nothing else.
func openDir(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|careful|onlyDir|flags, 0)
	return wantDir(path, f, err)
}

func wantDir(path string, f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotDir}
	}
	return f, nil
}

// notDir tells what is no directory apart from what is not there.
func (a *place) notDir(p Path, err error) error {
	if st, e := a.stat(p); e == nil && !st.IsDir() {
		return failed(CodeNotDir, p, fmt.Sprintf("%q is a %s and no directory", p.short(), typeOf(st)), "read_file reads a file")
	}
	return err
}

var (
	errMany   = fmt.Errorf("there are more than %d names; only as many were looked at", maxNames)
	errNotDir = errors.New("it is no directory")
)

// readNames reads a directory, and gives errMany where it has more than most names.
func readNames(ctx context.Context, f *os.File, most int) (all []fs.DirEntry, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some, err := f.ReadDir(4096)
		if all = append(all, some...); len(all) > most {
			return all[:most], errMany
		}
		if err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
	}
}
