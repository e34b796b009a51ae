package broker

import (
	"bytes"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of the kernel on scripts (BINPRM_BUF_SIZE of linux/binfmts.h and the
// depth of exec_binprm): a script may name a script.
const (
	scriptHead  = 256
	scriptDepth = 5
)

// started looks at a program that is about to be started, and tells of a
// refusal. The call always goes on: by the time the kernel reads the path it may
// say something else, so that what is refused is Landlock's to decide.
func started(w *worker, t target) (int64, error) {
	for range scriptDepth {
		o, _, err := w.object(t)
		if err == errNotMine {
			o, err = w.outside(t)
		}
		if err != nil {
			break
		}
		next := startedObject(w, &o)
		o.close()
		if next == "" {
			break
		}
		t = target{dirfd: unix.AT_FDCWD, path: next, follow: true}
	}
	return 0, errNotMine
}

// startedObject gives the interpreter of a script that may be started.
func startedObject(w *worker, o *object) string {
	if o.stat.Mode&unix.S_IFMT != unix.S_IFREG || o.stat.Mode&0o111 == 0 {
		return "" // the kernel refuses it anyway
	}
	ch := Change{Op: OpExec, Path: o.path, Kind: KindFile, Dir: -1, ToDir: -1}
	if v := w.b.config.Decider.Decide(&ch); !v.Allowed {
		_ = w.refuse(&ch, v)
		return ""
	}
	fd, err := unix.Open(o.link(), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var head [scriptHead]byte
	n, _ := unix.Pread(fd, head[:], 0)
	return interpreterOf(head[:max(n, 0)])
}

// interpreterOf gives the program that the first line of a script names, "" for
// what is no script.
func interpreterOf(head []byte) string {
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	name := strings.TrimLeft(string(line), " \t")
	if i := strings.IndexAny(name, " \t\x00"); i >= 0 {
		name = name[:i]
	}
	return name
}
