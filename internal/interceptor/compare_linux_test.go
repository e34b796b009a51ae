package interceptor

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// comparison does the same operations in two directories, and says what each one answers.
type comparison struct {
	rnd   *rand.Rand
	dirs  [2]string
	files [][2]int // open in both
}

var someNames = []string{"a", "b", "c", "d"}

func (c *comparison) path() string {
	parts := make([]string, 1+c.rnd.IntN(3))
	for i := range parts {
		parts[i] = someNames[c.rnd.IntN(len(someNames))]
	}
	return "/" + strings.Join(parts, "/")
}

// step is one operation: what it is, and how it is done in a directory.
type step struct {
	name string
	do   func(i int, dir string) string
}

func said(err error, more ...any) string { return fmt.Sprint(append([]any{err}, more...)...) }

// next picks an operation.
func (c *comparison) next() step {
	p, q, n := c.path(), c.path(), c.rnd.IntN(10000)
	if len(c.files) > 0 && c.rnd.IntN(3) == 0 {
		return c.onOpen(c.files[c.rnd.IntN(len(c.files))], n)
	}
	mode := []uint32{0o644, 0o600, 0o755, 0o700}[c.rnd.IntN(4)] // the server has no capability
	flags := []int{
		unix.O_RDWR | unix.O_CREAT, unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC, unix.O_RDWR,
		unix.O_RDWR | unix.O_CREAT | unix.O_EXCL, unix.O_WRONLY | unix.O_APPEND, unix.O_RDONLY,
	}[c.rnd.IntN(6)]
	rename := []uint{0, 0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE}[c.rnd.IntN(4)]
	times := []unix.Timespec{{Sec: int64(n)}, {Sec: int64(2 * n), Nsec: 5}}
	all := []step{
		{"mkdir " + p, func(_ int, dir string) string { return said(unix.Mkdir(dir+p, mode|0o700)) }},
		{"rmdir " + p, func(_ int, dir string) string { return said(unix.Rmdir(dir + p)) }},
		{"unlink " + p, func(_ int, dir string) string { return said(unix.Unlink(dir + p)) }},
		{fmt.Sprintf("rename %s %s %d", p, q, rename), func(_ int, dir string) string {
			return said(unix.Renameat2(unix.AT_FDCWD, dir+p, unix.AT_FDCWD, dir+q, rename))
		}},
		{"link " + p + " " + q, func(_ int, dir string) string {
			return said(unix.Linkat(unix.AT_FDCWD, dir+p, unix.AT_FDCWD, dir+q, 0))
		}},
		{"symlink " + p, func(_ int, dir string) string { return said(unix.Symlink("to"+strconv.Itoa(n), dir+p)) }},
		{"readlink " + p, func(_ int, dir string) string {
			buf := make([]byte, 100)
			k, err := unix.Readlink(dir+p, buf)
			return said(err, string(buf[:max(k, 0)]))
		}},
		{"chmod " + p, func(_ int, dir string) string { return said(unix.Chmod(dir+p, mode|0o700)) }},
		{"utimes " + p, func(_ int, dir string) string {
			return said(unix.UtimesNanoAt(unix.AT_FDCWD, dir+p, times, unix.AT_SYMLINK_NOFOLLOW))
		}},
		{"truncate " + p, func(_ int, dir string) string { return said(unix.Truncate(dir+p, int64(n))) }},
		{"setxattr " + p, func(_ int, dir string) string { return said(unix.Lsetxattr(dir+p, "user.x", []byte{byte(n)}, 0)) }},
		{"removexattr " + p, func(_ int, dir string) string { return said(unix.Lremovexattr(dir+p, "user.x")) }},
		{"mknod " + p, func(_ int, dir string) string { return said(unix.Mknod(dir+p, unix.S_IFIFO|mode, 0)) }},
		{"stat " + p, func(_ int, dir string) string { return statOf(dir + p) }},
		{"list " + p, func(_ int, dir string) string { return listOf(dir + p) }},
		{fmt.Sprintf("open %s %o", p, flags), func(i int, dir string) string { return c.open(i, dir+p, flags, mode) }},
		{"write whole " + p, func(_ int, dir string) string { return said(writeWhole(dir+p, n)) }},
	}
	return all[c.rnd.IntN(len(all))]
}

func writeWhole(path string, n int) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(strings.Repeat(strconv.Itoa(n), n%500)))
	return err
}

func (c *comparison) open(i int, path string, flags int, mode uint32) string {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if i == 0 {
		c.files = append(c.files, [2]int{fd, -1})
	} else {
		c.files[len(c.files)-1][1] = fd
		if err != nil || len(c.files) > 6 {
			c.close(len(c.files) - 1)
		}
	}
	return said(err)
}

func (c *comparison) close(i int) {
	for _, fd := range c.files[i] {
		_ = unix.Close(fd)
	}
	c.files = slices.Delete(c.files, i, i+1)
}

// onOpen picks an operation on open files.
func (c *comparison) onOpen(f [2]int, n int) step {
	text := []byte(strings.Repeat(strconv.Itoa(n), 1+n%2000))
	all := []step{
		{"pwrite", func(i int, _ string) string {
			k, err := unix.Pwrite(f[i], text, int64(n))
			return said(err, k)
		}},
		{"pread", func(i int, _ string) string {
			buf := make([]byte, 3000)
			k, err := unix.Pread(f[i], buf, int64(n/2))
			return said(err, k, string(buf[:max(k, 0)]))
		}},
		{"ftruncate", func(i int, _ string) string { return said(unix.Ftruncate(f[i], int64(n))) }},
		{"fstat", func(i int, _ string) string {
			var st unix.Stat_t
			err := unix.Fstat(f[i], &st)
			return said(err, st.Size, st.Mode)
		}},
		{"fsync", func(i int, _ string) string { return said(unix.Fsync(f[i])) }},
		{"fallocate", func(i int, _ string) string { return said(unix.Fallocate(f[i], 0, int64(n), 100)) }},
		{"punch", func(i int, _ string) string {
			return said(unix.Fallocate(f[i], unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, int64(n/3), 4096))
		}},
		{"close", func(i int, _ string) string {
			if i == 1 {
				c.close(slices.Index(c.files, f))
			}
			return ""
		}},
	}
	return all[c.rnd.IntN(len(all))]
}

func statOf(path string) string {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		st.Size = 0 // it is the file system's
	}
	// Not how many names it has: the history may hold one.
	return said(err, st.Mode, st.Size, st.Uid, st.Gid)
}

func listOf(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return said(err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return said(err, names)
}

// TestSameAsABareDirectory: random operations through the file system answer as in a
// directory without it, leave the same tree, and are taken back as a whole.
func TestSameAsABareDirectory(t *testing.T) {
	seeds := 8
	if os.Getenv("CARREL_SOAK") == "1" {
		seeds = 500
	}
	for _, transport := range transports {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", transport, seed), func(t *testing.T) {
				d := newDesk(t, transport)
				bare := t.TempDir()
				c := &comparison{rnd: rand.New(rand.NewPCG(uint64(seed), 1)), dirs: [2]string{d.root, bare}}
				c.run(t, d, 60)
				d.endStep(t)
				before := tree(t, d.root)
				c.run(t, d, 150)
				if got, want := untimed(tree(t, d.root)), untimed(tree(t, bare)); got != want {
					t.Fatalf("served\n%s\nbare\n%s", got, want)
				}
				d.endStep(t)
				if tree(t, d.root) == before || t.Failed() {
					return
				}
				d.undo(t, false)
				if after := tree(t, d.root); after != before {
					t.Errorf("before\n%s\nafter the undo\n%s", before, after)
				}
			})
		}
	}
}

func (c *comparison) run(t *testing.T, d *desk, n int) {
	t.Helper()
	d.do(func() {
		defer func() {
			for len(c.files) > 0 {
				c.close(0)
			}
		}()
		for i := range n {
			s := c.next()
			got := s.do(0, c.dirs[0])
			if want := s.do(1, c.dirs[1]); got != want {
				t.Errorf("%d %s: %.200s, and %.200s in a bare directory", i, s.name, got, want)
				return
			}
		}
	})
}

// untimed leaves out when something was changed: it was at two times.
func untimed(tree string) string {
	lines := strings.Split(tree, "\n")
	for i, l := range lines {
		words := strings.Split(l, " ")
		if len(words) > 2 {
			words = slices.Delete(words, 2, 3)
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "\n")
}
