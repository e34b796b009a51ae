//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// posixTests are single promises of a file system, each in a directory of its
// own that is the working directory.
var posixTests = []struct {
	name string
	do   func() error
}{
	{"append", func() error {
		return errors.Join(put("f", "hello"), appendTo("f", " world"), appendTo("f", "!"), has("f", "hello world!"))
	}},
	{"append positions", func() error {
		f, err := os.OpenFile("f", os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, e1 := f.WriteString("abc")
		_, e2 := f.Seek(0, io.SeekStart)
		_, e3 := f.WriteString("def")
		return errors.Join(e1, e2, e3, has("f", "abcdef"))
	}},
	{"truncate", func() error {
		return errors.Join(put("f", "hello"), os.Truncate("f", 3), has("f", "hel"), os.Truncate("f", 5), has("f", "hel\x00\x00"))
	}},
	{"truncate on open", func() error { return errors.Join(put("f", "hello"), put("f", "x"), has("f", "x")) }},
	{"truncate without the right", func() error {
		return errors.Join(put("f", "hello"), os.Chmod("f", 0o400), is(os.Truncate("f", 0), unix.EACCES), has("f", "hello"))
	}},
	{"write with the right gone", func() error {
		f, err := os.OpenFile("f", os.O_CREATE|os.O_WRONLY, 0o200)
		if err != nil {
			return err
		}
		defer f.Close()
		e1 := os.Chmod("f", 0)
		_, e2 := f.WriteString("kept")
		return errors.Join(e1, e2, f.Truncate(2), os.Chmod("f", 0o600), has("f", "ke"))
	}},
	{"created without rights", func() error {
		f, err := os.OpenFile("f", os.O_CREATE|os.O_RDWR|os.O_EXCL, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString("x")
		return errors.Join(err, size("f", 1))
	}},
	{"rename over", func() error {
		return errors.Join(put("a", "1"), put("b", "2"), os.Rename("a", "b"), has("b", "1"), gone("a"))
	}},
	{"rename over an open file", func() error {
		e1 := put("b", "old")
		f, err := os.Open("b")
		if err != nil {
			return err
		}
		defer f.Close()
		e2 := errors.Join(put("a", "new"), os.Rename("a", "b"))
		data, e3 := io.ReadAll(f)
		return errors.Join(e1, e2, e3, equal(string(data), "old"), links(f, 0))
	}},
	{"rename an open directory", func() error {
		e1 := errors.Join(os.Mkdir("d", 0o700), put("d/f", "x"))
		d, err := os.Open("d")
		if err != nil {
			return err
		}
		defer d.Close()
		e2 := os.Rename("d", "e")
		names, e3 := d.Readdirnames(-1)
		fd, e4 := unix.Openat(int(d.Fd()), "g", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		_ = unix.Close(fd)
		return errors.Join(e1, e2, e3, e4, equal(fmt.Sprint(names), "[f]"), size("e/g", 0))
	}},
	{"rename of directories", func() error {
		e1 := errors.Join(os.Mkdir("d", 0o700), os.Mkdir("d/in", 0o700), os.Mkdir("full", 0o700), put("full/x", ""), os.Mkdir("empty", 0o700), put("f", ""))
		return errors.Join(e1, is(unix.Rename("d", "d/in/x"), unix.EINVAL), is(unix.Rename("d", "full"), unix.ENOTEMPTY), is(unix.Rename("d", "f"), unix.ENOTDIR),
			is(unix.Rename("f", "d"), unix.EISDIR), unix.Rename("d", "empty"), size("empty/in", -1))
	}},
	{"rename to itself and to a link of itself", func() error {
		return errors.Join(put("a", "x"), os.Link("a", "b"), os.Rename("a", "a"), os.Rename("a", "b"), has("a", "x"), has("b", "x"))
	}},
	{"exchange", func() error {
		return errors.Join(put("a", "1"), os.Mkdir("d", 0o700), unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "d", unix.RENAME_EXCHANGE), has("d", "1"), size("a", -1),
			is(unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "none", unix.RENAME_EXCHANGE), unix.ENOENT))
	}},
	{"no replace", func() error {
		return errors.Join(put("a", "1"), put("b", "2"), is(unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", unix.RENAME_NOREPLACE), unix.EEXIST), has("b", "2"))
	}},
	{"link count", func() error {
		e1 := errors.Join(put("a", "x"), os.Link("a", "b"))
		f, err := os.OpenFile("a", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return errors.Join(e1, links(f, 2), os.Remove("a"), links(f, 1), appendTo("b", "y"), os.Remove("b"), links(f, 0), f.Truncate(1), f.Chmod(0o640))
	}},
	{"read of a removed file", func() error {
		e1 := put("f", "hello")
		f, err := os.Open("f")
		if err != nil {
			return err
		}
		defer f.Close()
		e2 := os.Remove("f")
		data, e3 := io.ReadAll(f)
		return errors.Join(e1, e2, e3, equal(string(data), "hello"), links(f, 0))
	}},
	{"links to directories and over files", func() error {
		return errors.Join(put("a", ""), put("b", ""), os.Mkdir("d", 0o700), is(unix.Link("a", "b"), unix.EEXIST), is(unix.Link("d", "e"), unix.EPERM), is(unix.Link("none", "x"), unix.ENOENT))
	}},
	{"symlinks", func() error {
		e := errors.Join(os.Symlink("some/where", "l"), os.Symlink("loop", "loop"), is(unix.Symlink("x", "l"), unix.EEXIST), is(unix.Symlink("", "e"), unix.ENOENT), is(put("loop", ""), unix.ELOOP))
		to, err := os.Readlink("l")
		return errors.Join(e, err, equal(to, "some/where"), is(unix.Unlink("l/"), unix.ENOTDIR), os.Remove("l"))
	}},
	{"create through a dangling symlink", func() error {
		return errors.Join(os.Symlink("to", "l"), is(exclusive("l"), unix.EEXIST), put("l", "x"), has("to", "x"))
	}},
	{"mkdir and rmdir", func() error {
		e1 := errors.Join(os.Mkdir("d", 0o700), put("f", ""), put("d/f", ""))
		return errors.Join(e1, is(unix.Mkdir("d", 0o700), unix.EEXIST), is(unix.Mkdir("f/x", 0o700), unix.ENOTDIR), is(unix.Mkdir("no/x", 0o700), unix.ENOENT), is(unix.Rmdir("d"), unix.ENOTEMPTY),
			is(unix.Rmdir("f"), unix.ENOTDIR), is(unix.Unlink("d"), unix.EISDIR), is(unix.Rmdir("."), unix.EINVAL), is(unix.Rmdir("d/.."), unix.ENOTEMPTY), os.Remove("d/f"), unix.Rmdir("d/"), gone("d"))
	}},
	{"directory links", func() error {
		e1 := errors.Join(os.Mkdir("d", 0o700), os.Mkdir("d/a", 0o700), os.Mkdir("d/b", 0o700))
		d, err := os.Open("d")
		if err != nil {
			return err
		}
		defer d.Close()
		return errors.Join(e1, links(d, 4), os.Remove("d/a"), links(d, 3))
	}},
	{"exclusive creation", func() error {
		return errors.Join(exclusive("f"), is(exclusive("f"), unix.EEXIST), os.Symlink("f", "l"), is(exclusive("l"), unix.EEXIST), os.Mkdir("d", 0o700), is(exclusive("d"), unix.EEXIST))
	}},
	{"opening at the same time", func() error {
		var all sync.WaitGroup
		errs := make([]error, 64)
		for i := range errs {
			all.Go(func() { errs[i] = errors.Join(appendTo("f", "x"), exclusive(fmt.Sprint("own", i))) })
		}
		all.Wait()
		return errors.Join(append(errs, size("f", 64))...)
	}},
	{"one of many creates", func() error {
		var all sync.WaitGroup
		errs := make([]error, 32)
		for i := range errs {
			all.Go(func() { errs[i] = exclusive("f") })
		}
		all.Wait()
		won := len(errs) - len(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil }))
		return equal(fmt.Sprint(won), "1")
	}},
	{"reading a directory while it changes", func() error {
		for i := range 300 {
			if err := put(fmt.Sprint("f", i), ""); err != nil {
				return err
			}
		}
		d, err := os.Open(".")
		if err != nil {
			return err
		}
		defer d.Close()
		seen := 0
		for {
			names, err := d.Readdirnames(10)
			for _, n := range names {
				seen++
				if err := os.Remove(n); err != nil {
					return err
				}
			}
			if err != nil {
				break
			}
		}
		return equal(fmt.Sprint(seen), "300")
	}},
	{"kinds in a directory", func() error {
		e1 := errors.Join(put("f", ""), os.Mkdir("d", 0o700), os.Symlink("x", "l"), unix.Mkfifo("p", 0o600))
		entries, err := os.ReadDir(".")
		var s string
		for _, e := range entries {
			s += e.Name() + e.Type().String()[:1] + " "
		}
		return errors.Join(e1, err, equal(s, "dd f- lL pp "))
	}},
	{"inherited descriptor of a directory", func() error {
		e1 := put("f", "")
		d, err := os.Open(".")
		if err != nil {
			return err
		}
		defer d.Close()
		again, e2 := unix.Dup(int(d.Fd()))
		names, e3 := d.Readdirnames(-1)
		return errors.Join(e1, e2, e3, unix.Close(again), equal(fmt.Sprint(names), "[f]"))
	}},
	{"times", func() error {
		at := time.Unix(123456789, 987654321)
		e1 := errors.Join(put("f", ""), os.Chtimes("f", at, at))
		st, err := os.Stat("f")
		if err != nil {
			return err
		}
		e2 := equal(st.ModTime().UTC().String(), at.UTC().String())
		return errors.Join(e1, e2, unix.UtimesNanoAt(unix.AT_FDCWD, "f", []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: 5}}, 0), is(unix.UtimesNanoAt(unix.AT_FDCWD, "f", []unix.Timespec{{Nsec: -1}, {}}, 0), unix.EINVAL))
	}},
	{"rights of new things", func() error {
		old := unix.Umask(0o027)
		e := errors.Join(os.Mkdir("d", 0o777), put("f", ""), unix.Mkfifo("p", 0o666))
		unix.Umask(old)
		return errors.Join(e, mode("d", 0o750), mode("f", 0o640), mode("p", 0o640))
	}},
	{"set-group-id directories", func() error {
		return errors.Join(os.Mkdir("d", 0o755), unix.Chmod("d", 0o2755), os.Mkdir("d/e", 0o755), mode("d", 0o2755), mode("d/e", 0o2755))
	}},
	{"names", func() error {
		long := string(bytes.Repeat([]byte("n"), 255))
		return errors.Join(put(long, ""), is(put(long+"n", ""), unix.ENAMETOOLONG), is(put("f/", ""), unix.EISDIR), is(unix.Mkdir("", 0o700), unix.ENOENT), put("-\n\xff", ""), os.Remove("-\n\xff"))
	}},
	{"directories are not written", func() error {
		return errors.Join(os.Mkdir("d", 0o700), is(put("d", ""), unix.EISDIR), is(os.Truncate("d", 0), unix.EISDIR))
	}},
	{"access", func() error {
		return errors.Join(put("f", ""), unix.Access("f", unix.W_OK), unix.Access(".", unix.W_OK|unix.X_OK), os.Chmod("f", 0o444), is(unix.Access("f", unix.W_OK), unix.EACCES), is(unix.Access("f", unix.X_OK), unix.EACCES))
	}},
	{"not read-only", func() error {
		var st unix.Statfs_t
		err := unix.Statfs(".", &st)
		return errors.Join(err, equal(fmt.Sprint(st.Flags&unix.ST_RDONLY), "0"))
	}},
}

// posix runs all of them below dir; what fails is the result.
func posix(w io.Writer, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	unix.Umask(0o022)
	for i, t := range posixTests {
		own := fmt.Sprintf("%s/%02d", dir, i)
		if err := errors.Join(os.Mkdir(own, 0o755), os.Chdir(own)); err != nil {
			return err
		}
		said := "ok"
		if err := t.do(); err != nil {
			said = fmt.Sprintf("FAILED %q", err.Error())
		}
		fmt.Fprintf(w, "%s: %s\n", t.name, said)
	}
	return nil
}

func put(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func exclusive(name string) error {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func has(name, want string) error {
	data, err := os.ReadFile(name)
	return errors.Join(err, equal(string(data), want))
}

func equal(got, want string) error {
	if got != want {
		return fmt.Errorf("%q, want %q", got, want)
	}
	return nil
}

func is(err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("error %v, want %v", err, want)
	}
	return nil
}

func gone(name string) error {
	_, err := os.Lstat(name)
	return is(err, unix.ENOENT)
}

// size compares a file's size; -1 is a directory.
func size(name string, want int64) error {
	st, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if st.IsDir() != (want == -1) || want >= 0 && st.Size() != want {
		return fmt.Errorf("%s: %v of %d bytes, want %d", name, st.Mode(), st.Size(), want)
	}
	return nil
}

func links(f *os.File, want int) error {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return errors.Join(err, equal(fmt.Sprint("links ", st.Nlink), fmt.Sprint("links ", want)))
}

func mode(name string, want uint32) error {
	var st unix.Stat_t
	err := unix.Lstat(name, &st)
	return errors.Join(err, equal(fmt.Sprintf("%s %04o", name, st.Mode&0o7777), fmt.Sprintf("%s %04o", name, want)))
}
