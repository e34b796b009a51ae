package review

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/gitconf"

	"golang.org/x/sys/unix"
)

const (
	maxIndexed = 4_000_000 // paths of one tree
	maxDepth   = 2000      // directories that are held open on the way
)

// begin makes the directories of a tree's overlay and its index. The upper directory gets the
// files of the tree that have several names there: an overlay would break their links with the
// first change.
func (l *Layer) begin(i int, tree string, note func(string)) error {
	root, err := openTree(tree)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, dir := range []string{l.part(i, "."), l.Upper(i), l.Work(i)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(l.part(i, "index"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	w := &walker{index: newIndexWriter(f), tree: tree, linked: make(map[uint64][]string)}
	top, err := statAt(root, ".")
	if err != nil {
		return err
	}
	if err := w.index.add(".", &top, nil); err != nil {
		return err
	}
	if err := w.walk(root, "", 0); err != nil {
		return fmt.Errorf("indexing %q: %w", tree, err)
	}
	if err := w.index.end(f); err != nil {
		return fmt.Errorf("indexing %q: %w", tree, err)
	}
	return l.seed(i, root, w.linked, note)
}

// openTree opens a directory whose path was resolved: no link is followed.
func openTree(tree string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, tree, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return -1, fmt.Errorf("opening %q: %w", tree, err)
	}
	return fd, nil
}

// walker goes through a tree as it is before a run.
type walker struct {
	index  *indexWriter
	tree   string
	linked map[uint64][]string // files with several names, by inode
}

func (w *walker) walk(dir int, rel string, depth int) error {
	names, err := namesIn(dir)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("%q lies more than %d directories deep", rel, maxDepth)
	}
	for _, name := range names {
		st, err := statAt(dir, name)
		if err != nil {
			return err
		}
		if st.Kind == None {
			continue // it has gone
		}
		at := path.Join(rel, name)
		var sum []byte
		if st.Kind == File && name == "index" {
			sum = gitIndexSum(dir, name, st.Size)
		}
		if err := w.index.add(at, &st, sum); err != nil {
			return err
		}
		if w.index.n > maxIndexed {
			return fmt.Errorf("it has more than %d paths\nhint: run in a smaller directory, or with --history on", maxIndexed)
		}
		if st.Kind == File && st.Nlink > 1 {
			w.linked[st.Ino] = append(w.linked[st.Ino], at)
		}
		if st.Kind == Dir {
			if err := w.enter(dir, name, at, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) enter(dir int, name, at string, depth int) error {
	fd, err := openDir(dir, name, unix.RESOLVE_NO_XDEV)
	switch {
	case errors.Is(err, unix.EXDEV):
		return &advice.Error{Err: fmt.Errorf("another file system is mounted at %q, and a layer does not show what is in it", w.tree+"/"+at),
			Hint: "unmount it, or run with --history on"}
	case errors.Is(err, unix.EACCES): // closed inside, too
		return nil
	case err != nil:
		return fmt.Errorf("opening %q: %w", at, err)
	}
	defer unix.Close(fd)
	return w.walk(fd, at, depth+1)
}

// openDir opens a directory in one that is held.
func openDir(dir int, name string, resolve uint64) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | resolve})
}

// namesIn lists a directory that is held open, sorted.
func namesIn(dir int) ([]string, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "directory")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.SortFunc(names, strings.Compare)
	return names, err
}

// statAt looks at a name; kind None where there is nothing.
func statAt(dir int, name string) (Stat, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return Stat{}, nil
	}
	if err != nil {
		return Stat{}, fmt.Errorf("looking at %q: %w", name, err)
	}
	return statOf(&st), nil
}

func statOf(st *unix.Stat_t) Stat {
	s := Stat{Perm: st.Mode & 0o7777, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Ino: st.Ino,
		Nlink: uint64(st.Nlink), Rdev: st.Rdev}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = File
	case unix.S_IFDIR:
		s.Kind = Dir
	case unix.S_IFLNK:
		s.Kind = Symlink
	case unix.S_IFIFO:
		s.Kind = Fifo
	case unix.S_IFSOCK:
		s.Kind = Socket
	default:
		s.Kind = Device
	}
	return s
}

// maxGitIndex is up to which size an index of git is read.
const maxGitIndex = 64 << 20

// gitIndexSum is that of what git status does not change in an index of git; nil for another
// file, and for one that cannot be read.
func gitIndexSum(dir int, name string, size int64) []byte {
	if size > maxGitIndex {
		return nil
	}
	fd, err := openFile(dir, name)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil || string(head) != "DIRC" {
		return nil
	}
	rest, err := readAtMost(f, maxGitIndex)
	if err != nil {
		return nil
	}
	same := gitconf.IndexWithoutStat(append(head, rest...))
	if same == nil {
		return nil
	}
	sum := sha256.Sum256(same)
	return sum[:]
}
