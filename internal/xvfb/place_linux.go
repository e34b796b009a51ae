package xvfb

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"carrel/internal/safefile"

	"golang.org/x/sys/unix"
)

// First is the lowest number: those below belong to people's own displays. Up to Last
// they are taken one after the other. Where somebody holds all of these, on purpose or
// not, those up to Highest are taken at random: they are more than all descriptors of
// a machine. Servers and clients know any number of 31 bits; only for TCP, on which
// nobody listens, there are fewer.
const (
	First   = 1000
	Last    = 1999
	Highest = 999_999_999
)

// Place is a display's number and directory, held until Close.
type Place struct {
	Number int
	Dir    string // canonical
	lock   int    // of the directory
	name   int    // a socket bound to the abstract name; -1 for none
}

// errHeld is a number that somebody else holds.
var errHeld = errors.New("held by another")

// tries is how many numbers are taken at random before it is given up.
const tries = 100

// Claim takes the first free number from [First] up and makes its directory below
// base, which is made too. It skips numbers that anybody's server uses on this
// machine.
func Claim(base string) (*Place, error) {
	for round := 0; ; round++ {
		p, err := claim(base)
		if round == 10 || !errors.Is(err, os.ErrNotExist) { // else the last one that was held took base along
			return p, err
		}
	}
}

func claim(base string) (*Place, error) {
	base, err := privateDir(base)
	if err != nil {
		return nil, err
	}
	used := abstractNames()
	for n := First; n <= Last; n++ {
		if used[n] || foreign(n) {
			continue
		}
		p, err := take(base, n)
		if errors.Is(err, errHeld) {
			continue
		}
		return p, err
	}
	for range tries {
		// Marks in /tmp are not looked at here: anybody can leave any number of
		// them, and whoever has not taken the abstract name can live beside us.
		p, err := take(base, draw())
		if !errors.Is(err, errHeld) {
			return p, err
		}
	}
	return nil, fmt.Errorf("all display numbers from %d to %d are in use, and %d larger ones that were tried: somebody holds their abstract names, @%sN; `ss -xap` as root tells who", First, Last, tries, socketName)
}

// draw gives a number beyond Last that nobody can guess.
func draw() int {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return Last + 1 + int(binary.NativeEndian.Uint64(b[:])%(Highest-Last))
}

// take makes and locks the directory of a number, empty.
func take(base string, n int) (*Place, error) {
	p := &Place{Number: n, Dir: filepath.Join(base, strconv.Itoa(n)), name: -1}
	var err error
	if p.lock, err = lockDir(p.Dir, true); err != nil {
		return nil, err
	}
	if p.name, err = bindAbstract(n); err != nil {
		p.Close()
		if errors.Is(err, unix.EADDRINUSE) {
			return nil, errHeld
		}
		return nil, fmt.Errorf("taking display number %d: %w", n, err)
	}
	if err := empty(p.Dir); err != nil {
		// Its server was taken over and has left what cannot be removed, as a tree
		// without rights: there are other numbers.
		p.Close()
		return nil, errHeld
	}
	for _, dir := range []string{p.ServerDir(), p.InsideDir(), p.BusDir()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			p.Close()
			return nil, fmt.Errorf("making the directory of display :%d: %w", n, err)
		}
	}
	return p, nil
}

// ServerDir is what the server sees as /tmp/.X11-unix.
func (p *Place) ServerDir() string { return filepath.Join(p.Dir, "server") }

// InsideDir is what programs inside see as /tmp/.X11-unix.
func (p *Place) InsideDir() string { return filepath.Join(p.Dir, "inside") }

// BusDir is where the accessibility bus reads its rules; no program inside may write there.
func (p *Place) BusDir() string { return filepath.Join(p.Dir, "bus") }

// WriteBus replaces a file in the place of the rules as a whole.
func (p *Place) WriteBus(name string, data []byte) error {
	return safefile.Write(filepath.Join(p.BusDir(), name), data, safefile.Options{})
}

// Socket is the name of the display's socket in either directory.
func (p *Place) Socket() string { return "X" + strconv.Itoa(p.Number) }

// Display is the value of DISPLAY.
func (p *Place) Display() string { return ":" + strconv.Itoa(p.Number) }

// Listen makes a socket at a path of the place, only its user's. Long paths work.
func (p *Place) Listen(path string) (int, error) {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path))}); err == nil {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listening on %s: %w", path, err)
	}
	return fd, nil
}

// Close removes the directory and gives the number back. The last one takes the
// directory of all displays along, and what was made around it, where that is empty.
func (p *Place) Close() error {
	err := os.RemoveAll(p.Dir)
	if p.name >= 0 {
		unix.Close(p.name)
	}
	unix.Close(p.lock)
	p.name, p.lock = -1, -1
	base := filepath.Dir(p.Dir)
	if os.Remove(base) == nil {
		_ = os.Remove(filepath.Dir(base))
	}
	return err
}

// Sweep removes the directories below base that belong to no running display.
func Sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err != nil || n < First || n > Highest || strconv.Itoa(n) != e.Name() {
			continue // nothing of ours
		}
		dir := filepath.Join(base, e.Name())
		if lock, err := lockDir(dir, false); err == nil {
			_ = os.RemoveAll(dir)
			unix.Close(lock)
		}
	}
}

// lockDir locks a directory, which it may make. Somebody may remove it between two
// steps, in a sweep: then what was locked is not what has the name.
func lockDir(dir string, create bool) (int, error) {
	for range 10 {
		if create {
			if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
				return -1, fmt.Errorf("making the directory of a display: %w", err)
			}
		}
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT && create {
			continue
		}
		if err != nil {
			return -1, err
		}
		if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
			unix.Close(fd)
			return -1, errHeld
		}
		var locked, named unix.Stat_t
		if unix.Fstat(fd, &locked) == nil && unix.Lstat(dir, &named) == nil && locked.Ino == named.Ino && locked.Dev == named.Dev {
			return fd, nil
		}
		unix.Close(fd)
	}
	return -1, errHeld
}

// empty removes what is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// privateDir makes a directory that only its user may use, or says why it is none.
// It gives the path without links.
func privateDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the place of displays: %w", err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("opening the place of displays: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", fmt.Errorf("looking at the place of displays: %w", err)
	}
	if int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return "", fmt.Errorf("%s is no place for displays: it has to be yours and of mode 0700", dir)
	}
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// Where X servers on the machine show themselves, as Xserver(1) has it.
const (
	socketName = "/tmp/.X11-unix/X"
	lockName   = "/tmp/.X%d-lock"
)

// foreign says whether a server has left its marks on the machine. One that has
// died without removing them is not told apart: there are numbers enough.
func foreign(n int) bool {
	for _, mark := range []string{socketName + strconv.Itoa(n), fmt.Sprintf(lockName, n)} {
		if _, err := os.Lstat(mark); !errors.Is(err, os.ErrNotExist) {
			return true
		}
	}
	return false
}

// abstractNames are the numbers whose abstract name is taken in our network, by
// anybody: proc_net(5), /proc/net/unix.
func abstractNames() map[int]bool {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	return readNames(f)
}

func readNames(r io.Reader) map[int]bool {
	used := make(map[int]bool)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		_, name, ok := strings.Cut(lines.Text(), " @"+socketName)
		if n, err := strconv.Atoi(name); ok && err == nil {
			used[n] = true
		}
	}
	return used
}

// bindAbstract takes the abstract name of a number. Nobody listens: whoever
// connects to it is refused, and goes on to the path.
func bindAbstract(n int) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + socketName + strconv.Itoa(n)}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
