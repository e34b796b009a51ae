package broker

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// procRoot is the inode number of the top of every procfs.
const procRoot = 1

// see finds what a path means to the caller, in the mounts that the caller has,
// and pins it: a descriptor for paths only. Where it fails, the errno is the one
// that the caller would have got.
func (w *resolver) see(dirfd int32, path string, follow bool) (int, error) {
	if path == "" {
		return -1, unix.ENOENT
	}
	root := w.b.config.View
	if w.away {
		own, err := w.procs.Open(w.call.TID, "root", unix.O_DIRECTORY)
		if err != nil {
			return -1, unix.EACCES
		}
		defer unix.Close(own)
		root = own
	}
	from, resolve := root, uint64(inMirror)
	if path[0] != '/' {
		dir, err := w.standing(dirfd)
		if err != nil {
			return -1, err
		}
		defer unix.Close(dir)
		from, resolve = dir, below
	}
	flags := uint64(unix.O_NOFOLLOW)
	if follow {
		flags = 0
	}
	fd, err := w.open(from, path, flags, resolve)
	if err == unix.ENOENT {
		// Procfs does not know the caller as "self" when it is we who look. Where
		// no link is on the way, that is not the reason.
		fd, err = w.open(from, path, flags, resolve|unix.RESOLVE_NO_SYMLINKS)
	}
	if err == unix.ELOOP || err == unix.EXDEV {
		k := walker{w: w, root: root, fenced: true, procfs: (*walker).asCaller, nofollow: !follow, cur: from, rest: path}
		defer k.close()
		return k.walk()
	}
	return fd, err
}

// asCaller follows a link of the workspace's procfs as if the caller did. Some
// are texts; the magic ones, which the kernel tells apart, are the things
// themselves.
func (k *walker) asCaller(_ int, name string, st *unix.Stat_t) (bool, error) {
	if st.Dev != k.w.b.procDev {
		return false, nil
	}
	var dir unix.Stat_t
	if err := unix.Fstat(k.cur, &dir); err != nil {
		return true, err
	}
	if dir.Ino == procRoot {
		if name != "self" && name != "thread-self" {
			return false, nil
		}
		text, err := k.w.itself(name)
		if err != nil {
			return true, err
		}
		return true, k.aside(text)
	}
	at, err := k.w.fdPath(k.cur)
	if err != nil || k.w.b.stageOnly(at+"/"+name) {
		return true, unix.EACCES
	}
	thing, err := k.w.open(k.cur, name, 0, below)
	if err == unix.EXDEV {
		return false, nil // a text that leads out of procfs: not by our own root
	}
	if err == unix.ELOOP {
		thing, err = unix.Openat(k.cur, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		k.to(thing, true)
	}
	return true, err
}

// openToAll is what everybody may read of any process, as far as its mode goes.
var openToAll = map[string]bool{
	"stat": true, "statm": true, "status": true, "cmdline": true, "comm": true, "cgroup": true, "mounts": true, "mountinfo": true,
	"limits": true, "task": true, "loginuid": true, "sessionid": true, "oom_score": true, "oom_score_adj": true, "oom_adj": true,
	"fd": true, "cpuset": true, "schedstat": true, "sched": true, "uid_map": true, "gid_map": true, "setgroups": true,
}

// openersOwn are the parts of procfs that show the namespaces of whoever opens
// them, which would be ours: the host's network and its System V objects.
var openersOwn = []string{"/proc/sys/net", "/proc/sys/fs/mqueue", "/proc/sysvipc", "/proc/keys", "/proc/key-users"}

// outsiders says whether a path of procfs would show the host when we open it.
func outsiders(at string) bool {
	return slices.ContainsFunc(openersOwn, func(p string) bool { return at == p || strings.HasPrefix(at, p+"/") })
}
