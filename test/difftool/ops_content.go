//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// contentOps change and read what is in a file.
var contentOps = []operation{
	{"write", 18, func(h *hand) string {
		fd, label := h.slot()
		n, err := unix.Write(fd, h.bytes(h.random.IntN(5000)))
		return fmt.Sprintf("%s %d %s %s", label, n, result(err), describe(fd))
	}},
	{"pwrite", 8, func(h *hand) string {
		fd, label := h.slot()
		at := int64(h.random.IntN(1 << 16))
		n, err := unix.Pwrite(fd, h.bytes(50), at)
		return fmt.Sprintf("%s at %d %d %s", label, at, n, result(err))
	}},
	{"pread", 8, func(h *hand) string {
		fd, label := h.slot()
		buf := make([]byte, 1<<17)
		n, err := unix.Pread(fd, buf, 0)
		return fmt.Sprintf("%s %d %s %x", label, n, result(err), sha256.Sum256(buf[:max(n, 0)]))[:60]
	}},
	{"lseek", 4, func(h *hand) string {
		fd, label := h.slot()
		at, err := unix.Seek(fd, int64(h.random.IntN(9000)-100), one(h, 0, 1, 2))
		if err != nil {
			return label + " " + result(err)
		}
		return fmt.Sprintf("%s -> %s", label, describe(fd)) + fmt.Sprint(at < 0)
	}},
	{"truncate", 10, func(h *hand) string {
		p, size := h.path(), one[int64](h, 0, 1, 100, 5000, 1<<20, -1)
		return fmt.Sprintf("%s %d %s %s", short(p), size, result(unix.Truncate(p, size)), look(unix.AT_FDCWD, p))
	}},
	{"ftruncate", 6, func(h *hand) string {
		fd, label := h.slot()
		size := one[int64](h, 0, 1, 100, 5000, 1<<20, -1)
		return fmt.Sprintf("%s %d %s %s", label, size, result(unix.Ftruncate(fd, size)), describe(fd))
	}},
	{"fallocate", 5, func(h *hand) string {
		fd, label := h.slot()
		mode := one[uint32](h, 0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_PUNCH_HOLE, unix.FALLOC_FL_ZERO_RANGE)
		return fmt.Sprintf("%s %#x %s %s", label, mode, result(unix.Fallocate(fd, mode, 4096, 8192)), describe(fd))
	}},
	{"copy_file_range", 4, func(h *hand) string {
		in, l1 := h.slot()
		out, l2 := h.slot()
		at, to := int64(0), int64(1<<18)
		n, err := unix.CopyFileRange(in, &at, out, &to, 3000, 0)
		return fmt.Sprintf("%s %s %d %s", l1, l2, n, result(err))
	}},
	{"mmap", 7, doMap},
	{"dup", 3, func(h *hand) string {
		fd, label := h.slot()
		got, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 10)
		return label + " " + h.opened(got, err)
	}},
	{"send", 5, doSend},
	{"flock", 5, func(h *hand) string {
		fd, label := h.slot()
		how := one(h, unix.LOCK_EX, unix.LOCK_SH, unix.LOCK_UN) | unix.LOCK_NB
		return fmt.Sprintf("%s %#x %s", label, how, result(settled(func() error { return unix.Flock(fd, how) })))
	}},
	{"file lock", 5, func(h *hand) string {
		fd, label := h.slot()
		lock := unix.Flock_t{Type: one[int16](h, unix.F_WRLCK, unix.F_RDLCK, unix.F_UNLCK), Len: 10}
		return fmt.Sprintf("%s %d %s", label, lock.Type, result(settled(func() error { return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock) })))
	}},
	{"fsync", 1, func(h *hand) string {
		fd, label := h.slot()
		return label + " " + result(unix.Fdatasync(fd))
	}},
	{"execute", 2, doExecute},
}

// settled asks for a lock again while it is held: a process that was just started closes
// what it inherited some microseconds after exec is reported.
func settled(lock func() error) (err error) {
	for range 5 {
		if err = lock(); err != unix.EAGAIN {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

// doMap writes to a file through a mapping.
func doMap(h *hand) string {
	fd, label := h.slot()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return label + " -"
	}
	prot := one(h, unix.PROT_READ|unix.PROT_WRITE, unix.PROT_READ)
	kind := one(h, unix.MAP_SHARED, unix.MAP_SHARED, unix.MAP_PRIVATE)
	m, err := unix.Mmap(fd, 0, int(min(st.Size, 4096)), prot, kind)
	if err != nil {
		return fmt.Sprintf("%s %#x %#x %s", label, prot, kind, result(err))
	}
	if prot&unix.PROT_WRITE != 0 {
		m[0], m[len(m)-1] = 'm', 'M'
	}
	first := m[0]
	return fmt.Sprintf("%s %#x %#x %d %s", label, prot, kind, first, result(unix.Munmap(m)))
}

// doSend passes a descriptor over a pair of sockets and keeps what arrives.
func doSend(h *hand) string {
	fd, label := h.slot()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return result(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(fd), nil, 0); err != nil {
		return label + " send " + result(err)
	}
	var data [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[1], data[:], rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return label + " receive " + result(err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return label + " no message"
	}
	got, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(got) != 1 {
		return label + " no descriptor"
	}
	return label + " -> " + h.keep(got[0])
}

// programs is held while a program runs, which has copies of the descriptors of
// all threads: closing one must then wait, or its locks would stay for as long
// as the program runs.
var programs sync.RWMutex

// closed closes a descriptor while no program has a copy.
func closed(fd int) error {
	programs.RLock()
	defer programs.RUnlock()
	return unix.Close(fd)
}

// doExecute writes a script and starts it at once: nobody else may still have
// it open for writing.
func doExecute(h *hand) string {
	name := h.root + "/run-" + h.name
	programs.Lock()
	defer programs.Unlock()
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o755)
	if err == nil {
		_, err = unix.Write(fd, []byte("#!/bin/sh\necho ran\n"))
		_ = unix.Close(fd)
	}
	if err != nil {
		return result(err)
	}
	if err := unix.Chmod(name, 0o755); err != nil {
		return "chmod " + result(err)
	}
	cmd := exec.Command(name)
	cmd.Dir = "/"
	out, err := cmd.Output()
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	return fmt.Sprintf("%q %q %s", out, failed, result(unix.Unlink(name)))
}
