//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// explicit is the time before which a modification time was set on purpose:
// operations set times long ago, everything else happens now.
const explicit = 1_500_000_000

var kinds = map[uint32]string{unix.S_IFREG: "file", unix.S_IFDIR: "dir", unix.S_IFLNK: "link", unix.S_IFIFO: "fifo", unix.S_IFSOCK: "socket", unix.S_IFCHR: "char"}

// stat is what of an inode is the same in every run.
func stat(st *unix.Stat_t) string {
	size := fmt.Sprint(st.Size)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		size = "-"
	}
	s := fmt.Sprintf("%s %04o %d:%d links=%d size=%s", kinds[st.Mode&unix.S_IFMT], st.Mode&0o7777, st.Uid, st.Gid, st.Nlink, size)
	// Writing to a FIFO changes its times only where it is not on a read-only
	// mount: a known deviation.
	if st.Mtim.Sec < explicit && st.Mode&unix.S_IFMT != unix.S_IFIFO {
		s += fmt.Sprintf(" mtime=%d.%09d", st.Mtim.Sec, st.Mtim.Nsec)
	}
	return s
}

// describe says what a descriptor is open on, and how.
func describe(fd int) string {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errno(err)
	}
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC {
		return "[procfs]" // its mode depends on the number of a descriptor
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return errno(err)
	}
	own, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	at, err := unix.Seek(fd, 0, io.SeekCurrent)
	where := fmt.Sprint(at)
	if err != nil {
		where = errno(err)
	} else if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		where = "-"
	}
	return fmt.Sprintf("[%s fl=%#x fd=%d at=%s]", stat(&st), flags, own, where)
}

// look is lstat, in words.
func look(dirfd int, path string) string {
	var st unix.Stat_t
	if err := unix.Fstatat(dirfd, path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "[" + errno(err) + "]"
	}
	s := stat(&st)
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dirfd, path, buf)
		if err != nil {
			return "[" + s + " " + errno(err) + "]"
		}
		s += " to " + short(string(buf[:n]))
	}
	return "[" + s + "]"
}

// printTree prints a directory tree with its metadata. Names of one inode get
// one group number, in the order of names.
func printTree(w io.Writer, root string) error {
	groups := make(map[uint64]int)
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			_, err = fmt.Fprintf(w, "%q unreadable\n", p)
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		line := fmt.Sprintf("%q %s", strings.TrimPrefix(p, root), look(unix.AT_FDCWD, p))
		if st.Nlink > 1 && !d.IsDir() {
			if groups[st.Ino] == 0 {
				groups[st.Ino] = len(groups) + 1
			}
			line += fmt.Sprintf(" group %d", groups[st.Ino])
		}
		if d.Type().IsRegular() {
			line += " " + digest(p)
		}
		if d.Type().IsRegular() || d.IsDir() {
			line += " " + attributes(p)
		}
		_, err = fmt.Fprintln(w, line)
		return err
	})
}

func digest(p string) string {
	f, err := os.Open(p)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return errno(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// attributes lists extended attributes with their values, by name.
func attributes(p string) string {
	buf := make([]byte, 1<<16)
	n, err := unix.Llistxattr(p, buf)
	if err != nil {
		return errno(err)
	}
	names := strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	var out []string
	for _, name := range names {
		n, err := unix.Lgetxattr(p, name, buf)
		if err != nil {
			out = append(out, name+": "+errno(err))
			continue
		}
		out = append(out, fmt.Sprintf("%s=%x", name, sha256.Sum256(buf[:n]))[:len(name)+17])
	}
	return strings.Join(out, " ")
}
