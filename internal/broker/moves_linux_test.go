package broker

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// moves makes calls in a tree of few names, which changes its shape between them. The
// kernel says by itself what each path means.
type moves struct {
	*bench
	*rand.Rand
	m     *memory
	asked []Change
}

func newMoves(t *testing.T, seed uint64) *moves {
	t.Helper()
	v := &moves{bench: newBench(t), Rand: rand.New(rand.NewPCG(seed, 0)), m: new(memory)}
	v.notes.never = func(ch *Change) bool { v.asked = append(v.asked, *ch); return false }
	v.grow(t)
	t.Chdir(v.dir)
	return v
}

// grow makes a few directories, the first of them where links may be.
func (v *moves) grow(t *testing.T) {
	for _, name := range []string{"a", "b", "c"} {
		if st, err := os.Lstat(v.dir + "/" + name); err == nil && !st.IsDir() {
			_ = os.Remove(v.dir + "/" + name)
		}
	}
	for _, dir := range []string{"a/a/a", "a/b/c", "b/a", "c/c/c/c"} {
		if err := os.MkdirAll(v.dir+"/"+dir, 0o755); err != nil && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EEXIST) {
			t.Fatal(err)
		}
	}
}

func (v *moves) pick(from ...string) string { return from[v.IntN(len(from))] }

// spell makes up a path of directories, which may lead nowhere.
func (v *moves) spell() string {
	var names []string
	for range v.IntN(4) {
		names = append(names, v.pick("a", "a", "b", "b", "c", "c", "..", "."))
	}
	text := strings.Join(names, v.pick("/", "/", "//"))
	if v.IntN(3) == 0 {
		text = v.dir + "/" + text
	}
	return strings.TrimSuffix(text, "/")
}

// some gives a directory that there is, other than the root.
func (v *moves) some() string {
	var all []string
	_ = filepath.WalkDir(v.dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && p != v.dir {
			all = append(all, p)
		}
		return nil
	})
	if len(all) == 0 {
		return v.dir
	}
	return v.pick(all...)
}

// call2 makes a call of two paths, or of a path and a number.
func (v *moves) call2(nr int32, args []uint64, texts ...string) {
	values := make([]any, len(texts))
	for i, s := range texts {
		values[i] = "=" + s
	}
	v.m.put("", values)
	v.raw(nr, args...)
}

// reshape moves, exchanges, makes or removes a directory or a link, from outside or by a
// call. It need not succeed.
func (v *moves) reshape() {
	const here = ^uint64(99) // AT_FDCWD
	one, other := v.some(), v.some()
	free := v.some() + "/" + v.pick("a", "b", "c")
	inside := v.IntN(2) == 0
	switch v.IntN(6) {
	case 0, 1:
		if inside {
			v.call2(unix.SYS_RENAMEAT2, []uint64{here, v.m.at(0), here, v.m.at(1), renameNoReplace}, one, free)
		} else {
			_ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, free, renameNoReplace)
		}
	case 2, 3:
		if inside {
			v.call2(unix.SYS_RENAMEAT2, []uint64{here, v.m.at(0), here, v.m.at(1), renameExchange}, one, other)
		} else {
			_ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, renameExchange)
		}
	case 4:
		if inside {
			v.call2(unix.SYS_UNLINKAT, []uint64{here, v.m.at(0), unix.AT_REMOVEDIR}, one)
			v.call2(unix.SYS_MKDIRAT, []uint64{here, v.m.at(0), 0o755}, free)
		} else {
			_ = os.RemoveAll(one)
			_ = os.Mkdir(free, 0o755)
		}
	case 5: // a link where the directory was, to where it is now or to another
		if unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, free, renameNoReplace) == nil {
			_ = os.Symlink(v.pick(free, free, other, "../b"), one)
		}
	}
}

// meant asks the kernel for a directory: a descriptor of it, and its canonical path.
func meant(t *testing.T, dirfd int, text string) (int, string, error) {
	t.Helper()
	if text == "" {
		text = "."
	}
	fd, err := unix.Openat(dirfd, text, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	return fd, at, err
}

// TestDirectoriesMove: whatever moves between two calls, from outside or inside, a call
// works where the kernel says that its path leads, and was decided for that place.
func TestDirectoriesMove(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			v := newMoves(t, seed)
			made := 0
			for i := range 1500 {
				if v.IntN(3) == 0 {
					v.reshape()
				}
				if i%20 == 0 {
					v.grow(t)
				}
				if v.IntN(10) == 0 && unix.Chdir(v.some()) != nil {
					t.Fatal("cannot go to a directory that is there")
				}
				if v.step(t, "f"+strconv.Itoa(i)) {
					made++
				}
			}
			if made < 300 {
				t.Errorf("only %d calls had a place to work in", made)
			}
			runtime.KeepAlive(v.m)
		})
	}
}

// step makes a file by a path that is made up, and says whether there was a place.
func (v *moves) step(t *testing.T, name string) bool {
	t.Helper()
	dirfd, text := unix.AT_FDCWD, v.spell()
	if v.IntN(4) == 0 {
		fd, err := unix.Open(v.some(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		dirfd = fd
	}
	fd, at, want := meant(t, dirfd, text)
	defer unix.Close(fd)
	whole := name
	if text != "" {
		whole = text + "/" + name
	}
	v.m.put("", []any{"=" + whole})
	v.asked = v.asked[:0]
	a := v.raw(unix.SYS_OPENAT, uint64(dirfd), v.m.at(0), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
	ours := want == nil && (at == v.dir || strings.HasPrefix(at, v.dir+"/"))
	var st unix.Stat_t
	there := want == nil && unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	switch {
	case !ours:
		if !a.continued && !errors.Is(a.errno, want) || len(v.asked) > 0 || there {
			t.Fatalf("%q of %d means %q, %v: %+v, decided for %+v", whole, dirfd, at, want, a, v.asked)
		}
	case strings.HasSuffix(at, " (deleted)"):
		if there || a.errno != unix.ENOENT && !a.continued {
			t.Fatalf("%q in a removed directory: %+v", whole, a)
		}
	case a != (answer{val: 77}) || !there || len(v.asked) != 1 || v.asked[0].Path != at+"/"+name:
		t.Fatalf("%q means %q: %+v, made %v, decided for %+v", whole, at+"/"+name, a, there, v.asked)
	}
	if there {
		_ = unix.Unlinkat(fd, name, 0)
	}
	return there
}

// TestDirectoriesMoveMeanwhile: while ancestors are exchanged without a pause, a file is made
// in the directory that was pinned when it was decided. Where nothing was
// moved during a call, that is the place that was decided.
func TestDirectoriesMoveMeanwhile(t *testing.T) {
	v := newMoves(t, 0)
	var moved atomic.Uint64 // odd while something moves
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		pairs := [][2]string{{"a", "c"}, {"a/b", "b/a"}, {"a/a", "a/b"}, {"c/c/c", "b/a"}}
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			p := pairs[i%len(pairs)]
			moved.Add(1)
			_ = unix.Renameat2(unix.AT_FDCWD, v.dir+"/"+p[0], unix.AT_FDCWD, v.dir+"/"+p[1], renameExchange)
			moved.Add(1)
			if i%8 == 0 {
				time.Sleep(200 * time.Microsecond)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	var pinned unix.Stat_t
	var decided string
	v.notes.never = func(ch *Change) bool {
		decided = ch.Path
		if err := unix.Fstat(ch.Dir, &pinned); err != nil {
			t.Error(err)
		}
		return false
	}
	quiet := 0
	for i := range 2000 {
		name, before := "f"+strconv.Itoa(i), moved.Load()
		a := v.call(unix.SYS_OPENAT, v.pick("a/", "a/b/", "b/a/", "c/c/c/", "c/c/")+name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
		if i%2 == 0 {
			v.m.put("", []any{"=" + v.pick("a/", "a/b/", "a/a/", "b/a/") + name + "r"})
			name += "r"
			before = moved.Load()
			a = v.raw(unix.SYS_OPENAT, ^uint64(99), v.m.at(0), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
		}
		if a.errno == unix.ENOENT {
			continue
		}
		if a != (answer{val: 77}) {
			t.Fatalf("%s: %+v", name, a)
		}
		if _, err := os.Lstat(decided); before%2 == 0 && moved.Load() == before {
			quiet++
			if err != nil {
				t.Fatalf("nothing has moved: %s was decided for %q and is not there", name, decided)
			}
		}
		landed, err := holder(v.dir, name)
		if err != nil || landed != pinned.Ino {
			t.Fatalf("%s was decided for %q in directory %d and is in %d, %v", name, decided, pinned.Ino, landed, err)
		}
	}
	t.Logf("nothing moved during %d calls", quiet)
}

// holder gives the inode of the directory that has a name in it, while directories
// move: it looks until it has found it, and takes the name away.
func holder(root, name string) (uint64, error) {
	for range 1000 {
		var found uint64
		_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return nil
			}
			dir, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil
			}
			defer unix.Close(dir)
			var in, st unix.Stat_t
			if unix.Fstat(dir, &in) == nil && unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
				found = in.Ino
				_ = unix.Unlinkat(dir, name, 0)
				return filepath.SkipAll
			}
			return nil
		})
		if found != 0 {
			return found, nil
		}
	}
	return 0, errors.New("it is in no directory")
}
