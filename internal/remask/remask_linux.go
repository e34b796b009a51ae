package remask

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"carrel/internal/broker"
	"carrel/internal/hostview"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/secrets"

	"golang.org/x/sys/unix"
)

// Options say what is masked, and by what.
type Options struct {
	Project string
	Policy  *policy.Effective
	Mounts  []sandbox.Mount           // of the plan
	Looked  []string                  // directories of the project to which files of secrets may come
	Stage   int                       // the first process inside
	Mask    func(target string) error // hides a file once more
	Exact   bool                      // no file of secrets is hidden by its name
	Broker  *Broker                   // nil without one
	Seen    func(path string) bool    // whether the inside sees a file, where no mounts hide it; nil looks at the view
	Note    func(format string, args ...any)
}

// Broker is what is asked of the broker of the walls.
type Broker struct {
	View int               // the root as commands see it, a descriptor
	Own  *OwnFiles         // made inside
	Hide func(path string) // has it refuse a path
}

// Watch keeps files hidden that are masked by a mount. An editor outside saves
// by renaming a new file over the old one, and the mount goes with the old
// one. The directories are watched, and the new file gets a mask of its own;
// until then, some milliseconds, it can be read inside.
type Watch struct {
	Options
	root  int // of the view
	watch int
	stop  [2]int // a pipe that ends the watch

	looked time.Time        // nothing that is older has come since the project was looked at
	masked map[string]bool  // files that are masked
	dirs   map[int32]string // by watch
	done   chan struct{}
	failed map[string]error
	notes  []string
}

// watchDelay is how long a command runs before the watch begins. The kernel
// takes some ten milliseconds to end a watch, which would be a third of a short
// run; what has been replaced by then is found when the watch begins.
const watchDelay = 25 * time.Millisecond

// lookedBefore is how long before the watch the project was looked at, at most. Directories that have
// changed since are read again.
const lookedBefore = time.Minute

const (
	maxWatched  = 1000 // directories
	remaskTries = 50
	remaskPause = time.Millisecond
	watched     = unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK
)

// Start begins to watch; nil where there is nothing to watch or no way.
func Start(o Options) *Watch {
	m := &Watch{Options: o, looked: time.Now().Add(-lookedBefore),
		masked: make(map[string]bool), dirs: make(map[int32]string), done: make(chan struct{}), failed: make(map[string]error)}
	var dirs []string
	for at := range maskedBy(o.Mounts) {
		m.masked[at] = true
		dirs = append(dirs, path.Dir(at))
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	if len(dirs) > maxWatched {
		o.Note("%d directories hold masked files, and %d are watched: a file that is replaced outside in another one is seen inside", len(dirs), maxWatched)
		dirs = dirs[:maxWatched]
	}
	if o.Broker != nil && !o.Exact { // for new files of secrets
		looked := append([]string{o.Project}, o.Looked...)
		dirs = append(dirs, looked[:min(len(looked), maxWatched+1-len(dirs))]...)
	}
	if len(dirs) == 0 {
		return nil
	}
	if err := unix.Pipe2(m.stop[:], unix.O_CLOEXEC); err != nil {
		o.Note(unwatched, err)
		return nil
	}
	go m.run(dirs)
	return m
}

// maskedBy gives the files that mounts mask. One that is mounted over a mask later, as the
// policy grants what a masked link leads to, is shown.
func maskedBy(mounts []sandbox.Mount) map[string]bool {
	masked := make(map[string]bool)
	for _, step := range mounts {
		switch {
		case step.Kind == sandbox.MountData && step.Reason == hostview.Passwords: // nothing of the new one is seen
			masked[step.Target] = true
		case step.Kind == sandbox.MountMask && !step.Dir && !strings.HasPrefix(step.Target, "/proc/"):
			masked[step.Target] = true
		case step.Kind == sandbox.MountBind:
			delete(masked, step.Target)
		}
	}
	return masked
}

const unwatched = "masked files are not watched: one that is replaced outside while the command runs is seen inside: %v"

func (m *Watch) open(dirs []string) error {
	var err error
	if m.root = -1; m.Seen == nil {
		m.root, err = m.view()
	}
	if err != nil {
		return fmt.Errorf("opening the view: %w", err)
	}
	if m.watch, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		unix.Close(m.root)
		return fmt.Errorf("watching directories: %w", err)
	}
	for _, dir := range dirs {
		switch wd, err := unix.InotifyAddWatch(m.watch, dir, watched); err {
		case nil:
			m.dirs[int32(wd)] = dir
		case unix.EACCES, unix.ENOENT, unix.ENOTDIR: // a replacement there is no atomic save of an editor
		default: // as for the others: there are as many watches as may be
			m.notes = append(m.notes, fmt.Sprintf(unwatched, fmt.Errorf("%s: %w", dir, err)))
			return nil
		}
	}
	return nil
}

// view opens the root as commands see it. A stage that is ending hides it for a
// moment before it is gone.
func (m *Watch) view() (fd int, err error) {
	if m.Broker != nil {
		return unix.FcntlInt(uintptr(m.Broker.View), unix.F_DUPFD_CLOEXEC, 0)
	}
	for range remaskTries {
		fd, err = unix.Open("/proc/"+strconv.Itoa(m.Stage)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != unix.EACCES && err != unix.ESRCH {
			break
		}
		time.Sleep(remaskPause)
	}
	return fd, err
}

// Close ends the watch and gives what could not be hidden again.
func (m *Watch) Close() []string {
	if m == nil {
		return nil
	}
	unix.Close(m.stop[1])
	<-m.done
	unix.Close(m.stop[0])
	notes := m.notes
	for name, err := range m.failed {
		notes = append(notes, fmt.Sprintf("%s was replaced outside while the command ran, and could be read inside from then on: %v", name, err))
	}
	slices.Sort(notes)
	return notes
}

func (m *Watch) run(dirs []string) {
	defer close(m.done)
	if ended(m.stop[0], int(watchDelay.Milliseconds()), nil) {
		return
	}
	switch err := m.open(dirs); {
	case errors.Is(err, fs.ErrNotExist):
		return // the command has ended already
	case err != nil:
		m.notes = append(m.notes, fmt.Sprintf(unwatched, err))
		return
	}
	defer unix.Close(m.root) // -1 where no view is looked at
	defer unix.Close(m.watch)
	m.all() // what was replaced before the watch began
	buf := make([]byte, 64<<10)
	for !ended(m.stop[0], -1, []unix.PollFd{{Fd: int32(m.watch), Events: unix.POLLIN}}) {
		if n, err := unix.Read(m.watch, buf); err == nil {
			m.events(buf[:n])
		}
	}
}

// ended waits until stop is closed at its other end, another descriptor has
// something, or the milliseconds are over; -1 for no limit.
func ended(stop, milliseconds int, others []unix.PollFd) bool {
	polled := append(others, unix.PollFd{Fd: int32(stop), Events: unix.POLLIN})
	_, err := unix.Poll(polled, milliseconds)
	return err != nil && err != unix.EINTR || polled[len(others)].Revents != 0
}

// events reads struct inotify_event of linux/inotify.h.
func (m *Watch) events(buf []byte) {
	for len(buf) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(buf)), binary.NativeEndian.Uint32(buf[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		name := string(buf[unix.SizeofInotifyEvent:end])
		name, _, _ = strings.Cut(name, "\x00")
		buf = buf[end:]
		switch dir, known := m.dirs[wd]; {
		case mask&unix.IN_Q_OVERFLOW != 0:
			m.all()
		case known && mask&unix.IN_ISDIR == 0 && name != "":
			m.look(dir+"/"+name, name)
		}
	}
}

// all looks at everything: there have been no events, or not of all.
func (m *Watch) all() {
	for name := range m.masked {
		m.see(name)
	}
	if m.Broker == nil || m.Exact {
		return
	}
	for _, dir := range m.dirs {
		if st, err := os.Lstat(dir); err != nil || !pathname.Within(dir, m.Project) || st.ModTime().Before(m.looked) {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			m.look(dir+"/"+e.Name(), e.Name())
		}
	}
}

// look decides whether a name is one to hide. A file of secrets that appears
// is hidden if it comes from outside; what a command made is not.
func (m *Watch) look(at, name string) {
	switch {
	case m.masked[at]:
		m.see(at)
	case HiddenByName(m.Policy, m.Project, at) && m.Broker != nil && !m.Exact:
		if m.Broker.Own.Has(at) || !m.visible(at) {
			return
		}
		m.Broker.Hide(at)
		m.see(at)
	}
}

// HiddenByName says whether a path has a name in the project that only files of secrets
// have, and no rule names it.
func HiddenByName(e *policy.Effective, project, at string) bool {
	if !pathname.Within(at, project) || !secrets.Named(path.Base(at)) {
		return false
	}
	d := e.Lookup(at)
	return d.Rule == nil || d.Rule.Path != at
}

// CameTo says whether what is at a path is a file of secrets that came there from outside.
func (o *OwnFiles) CameTo(at, project string, e *policy.Effective) bool {
	var st unix.Stat_t
	return HiddenByName(e, project, at) && unix.Lstat(at, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && !o.Has(at)
}

// see hides a file again if it can be seen.
func (m *Watch) see(at string) {
	for try := 0; ; try++ {
		if !m.visible(at) {
			delete(m.failed, at)
			return
		}
		err := m.Mask(at)
		if err == nil {
			m.masked[at] = true
			continue // what if another one has come meanwhile
		}
		m.failed[at] = err
		if try == remaskTries {
			return
		}
		time.Sleep(remaskPause)
	}
}

// visible says whether a command finds the host's file at a name.
func (m *Watch) visible(at string) bool {
	var outside, within unix.Stat_t
	if unix.Lstat(at, &outside) != nil || outside.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	if m.Seen != nil {
		return m.Seen(at)
	}
	fd, err := unix.Openat2(m.root, at, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Fstat(fd, &within) == nil && within.Dev == outside.Dev && within.Ino == outside.Ino
}

// OwnFiles remembers which files of secrets were made inside. They are noted
// before they are made, so that the watch does not find one that is not. The
// name alone does not make one the command's own: what is put in its place from
// outside is not.
type OwnFiles struct {
	mu      sync.Mutex
	made    map[string]broker.Inode
	pending map[string]int
}

// maxOwnSecrets bounds what is remembered.
const maxOwnSecrets = 10_000

func inodeAt(at string) broker.Inode {
	var st unix.Stat_t
	if unix.Lstat(at, &st) != nil {
		return broker.Inode{}
	}
	return broker.Inode{Dev: st.Dev, Ino: st.Ino}
}

// Before is told of each change that is about to be made.
func (o *OwnFiles) Before(ch *broker.Change) { o.note(ch, 1, false) }

// After is told of each change that was tried, and how it went.
func (o *OwnFiles) After(ch *broker.Change, err error) { o.note(ch, -1, err == nil) }

func (o *OwnFiles) note(ch *broker.Change, count int, done bool) {
	made, gone := [2]string{ch.To}, ""
	switch ch.Op {
	case broker.OpCreate, broker.OpMknod, broker.OpSymlink:
		made[0] = ch.Path
	case broker.OpExchange:
		made[1] = ch.Path
	case broker.OpRename, broker.OpUnlink:
		gone = ch.Path
	}
	for _, at := range made {
		if at != "" && hideable(at) {
			o.noteMade(at, count, done)
		}
	}
	if done && gone != "" && hideable(gone) {
		o.mu.Lock()
		delete(o.made, gone)
		o.mu.Unlock()
	}
}

// hideable says whether a file may be hidden, by its name.
func hideable(at string) bool {
	test := secrets.Match(path.Dir(at), path.Base(at)).Test
	return test != secrets.Never && test != secrets.Shown || hostview.IsGitConfig(strings.TrimSuffix(at, ".lock"))
}

func (o *OwnFiles) noteMade(at string, count int, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made == nil {
		o.made, o.pending = make(map[string]broker.Inode), make(map[string]int)
	}
	if o.pending[at] += count; o.pending[at] == 0 {
		delete(o.pending, at)
	}
	if done && len(o.made) < maxOwnSecrets {
		o.made[strings.Clone(at)] = inodeAt(at)
	}
}

// Is says whether a file at a name was made there inside.
func (o *OwnFiles) Is(at string, is broker.Inode) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.made[at] == is
}

// Has says whether what a name leads to was made inside, and waits for one that
// is being made.
func (o *OwnFiles) Has(at string) bool {
	for range remaskTries {
		o.mu.Lock()
		own, pending := o.made[at], o.pending[at] > 0
		o.mu.Unlock()
		if own != (broker.Inode{}) && own == inodeAt(at) {
			return true
		}
		if !pending {
			return false
		}
		time.Sleep(remaskPause)
	}
	return false
}
