package broker

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// Call is one stopped system call: struct seccomp_notif of linux/seccomp.h.
type Call struct {
	ID    uint64
	TID   uint32 // of the calling thread, in the supervisor's pid namespace
	Flags uint32
	Nr    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

// Trap is where stopped calls come from and answers go to.
type Trap interface {
	// Receive waits for the next call; an error means that there will be none.
	Receive(*Call) error
	// Answer ends a call with val, or with errno where that is not 0.
	Answer(id uint64, val int64, errno syscall.Errno) error
	// Continue lets the kernel run the call as it stands.
	Continue(id uint64) error
	// Valid says whether the caller is still stopped in this call.
	Valid(id uint64) bool
	// AddFD installs a copy of fd in the caller; flags are 0 or O_CLOEXEC.
	AddFD(id uint64, fd, flags int) (int, error)
	Close()
}

// Config is what a broker needs. The descriptors stay the caller's to close,
// after Close.
type Config struct {
	Trap     Trap
	Mirror   int      // root of the mirrored mount tree, roots read-write
	View     int      // root of the workspace's own tree, roots read-only
	Level    int      // of the workspace's process ids below ours
	Roots    []string // canonical paths whose changes go through the broker
	Grants   int      // root of a tree that has the roots at their paths, read-write, and nothing else: what is opened for a caller lies there
	Decider  Decider
	Recorder Recorder
	Refused  Refused
	Umask    int // of the first command
	// Bind gives a socket a name as seen from a directory of the mirror, with
	// the mirror's root as "/". ENOSYS: it cannot.
	Bind    func(socket, at int, text string, umask int) error
	MountNS uint64 // inode number of the workspace's mount namespace
	// Reads says that opens for reading and starts of programs are trapped, too.
	Reads bool
	// Alone, where it is not nil, keeps other brokers from acting alone until the function
	// that it gives is called.
	Alone func() (over func(), err error)
	// Bare says that there are no mounts of the workspace's own: mirror, view and
	// grants are the host's root. Opens and names are refused by Landlock where
	// they are in no root; changes of metadata, which it does not see, are not
	// continued, and made in roots and below Free, where nobody is asked.
	Bare bool
	Free []string
	// Cuts says that Landlock lets what is in a root be cut by a path, as the mounts of the
	// workspace do not: a call that cuts a file which it does not open for writing is never
	// continued. With another root the caller's own mounts decide.
	Cuts bool
	// Programs says that the policy limits which programs may be started.
	Programs bool
}

// Broker answers the trapped calls of one workspace.
type Broker struct {
	config          Config
	table           map[int32]handler
	moving, anybody map[int32]bool // see groups
	workers         sync.WaitGroup
	gate            gate
	closed          atomic.Bool
	umasks          caller.Umasks
	foreign         atomic.Bool
	pins            pins
	leased          atomic.Int32
	borrowed        chan struct{}
	late            chan Call
	self            int // /proc/self/fd
	turn            *turn
	still           sync.RWMutex // see worker.alone
	mountNS         uint64       // inode of the workspace's own mount namespace
	terminals       uint64       // device number of the file system of terminals made inside
	memory          uint64       // that of the private file systems in memory, which share one
	ownRoot         bool         // the mirror's root is this process's own
	procDev         uint64       // of the workspace's procfs
	fifos           fifos
	drafts          drafts
}

// hands is how many threads answer. One at a time waits for the next call: the
// kernel wakes every waiter for each, and all but one would go back to sleep.
// Another takes over when a call takes long.
const hands = 4

// New starts a broker. It answers until Close, or until nobody is left to stop.
func New(c Config) (*Broker, error) {
	if len(c.Roots) == 0 && len(c.Free) == 0 {
		return nil, errors.New("starting the broker: no roots")
	}
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("starting the broker: %w", err)
	}
	b := &Broker{config: c, table: handlers(), umasks: caller.NewUmasks(c.Umask), mountNS: c.MountNS, self: self, turn: newTurn(),
		late: make(chan Call), borrowed: make(chan struct{}, maxBorrowed)}
	b.moving, b.anybody = groups()
	if c.Cuts {
		b.anybody[unix.SYS_TRUNCATE] = true
	}
	b.ownRoot = sameRoot(c.Mirror)
	var pts unix.Stat_t
	if unix.Fstatat(c.View, "dev/pts", &pts, unix.AT_SYMLINK_NOFOLLOW) == nil {
		b.terminals = pts.Dev
	}
	var shm unix.Stat_t
	if unix.Fstatat(c.View, "dev/shm", &shm, unix.AT_SYMLINK_NOFOLLOW) == nil {
		b.memory = shm.Dev
	}
	if c.Reads {
		if err := b.readToo(); err != nil {
			unix.Close(self)
			return nil, err
		}
	}
	b.gate.init()
	started := make(chan error, hands)
	for range hands {
		b.workers.Add(1)
		go b.work(started)
	}
	for range hands {
		err = errors.Join(err, <-started)
	}
	go b.turn.watch()
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("starting the broker: %w", err)
	}
	return b, nil
}

// Close ends the broker; calls still stopped fail inside. It may be called twice.
func (b *Broker) Close() {
	if b.closed.Swap(true) {
		return
	}
	b.gate.open(true)
	b.config.Trap.Close()
	b.turn.end()
	b.workers.Wait()
	b.drafts.end(b)
	b.pins.drop()
	b.fifos.close()
	unix.Close(b.self)
}

// Hold stops answering (true) or goes on (false): while held, nothing of the
// workspace changes. It returns when no change is under way.
func (b *Broker) Hold(hold bool) {
	b.gate.open(!hold)
	if hold {
		b.still.Lock() // what came through the gate before is done then
		defer b.still.Unlock()
	}
}

func (b *Broker) work(started chan<- error) {
	defer b.workers.Done()
	runtime.LockOSThread() // and never unlocked: the thread ends with its privileges
	w := newWorker(b)
	err := w.becomeHands()
	started <- err
	if err != nil {
		return
	}
	defer w.drop()
	for b.turn.take(w) {
		for held := true; held; held = b.turn.done(w) {
			if err := w.trap.Receive(&w.call); err != nil {
				b.turn.end()
				return
			}
			b.turn.busy(w)
			w.answer()
			w.rest()
		}
		w.release()
	}
}

// handler carries a call out. It returns the value for the caller, or an errno;
// errNotMine continues the call, errAnswered says that it has been answered.
type handler func(w *worker, c *Call) (int64, error)

var (
	errNotMine  = errors.New("not the broker's")
	errAnswered = errors.New("answered")
	errAlone    = errors.New("to be decided while no other worker acts")
	errLeased   = errors.New("somebody holds a lease")

	// errLeasedBriefly: and the caller does not wait for other programs' leases.
	errLeasedBriefly = fmt.Errorf("%w, for a moment", errLeased)
)

func (w *worker) answer() {
	c := &w.call
	h := w.b.table[c.Nr]
	if h == nil {
		w.trap.Answer(c.ID, 0, unix.ENOSYS) // trapped, and nobody here knows it
		return
	}
	if w.away = w.foreign(); w.away && !w.b.anybody[c.Nr] {
		w.letGo(c)
		return
	}
	w.begin()
	val, err := w.alone(h, c)
	for n := 0; err == unix.ESTALE && n < maxRaces; n++ { // a name has another meaning than when it was looked at
		val, err = w.alone(h, c)
	}
	w.end() // first: the caller goes on with the answer, on this processor if we sleep
	w.reply(val, err)
}

// alone runs a handler, while the workspace is not held. What a handler looked
// at stays so until it has acted: a rename or a link, which can bring anything
// anywhere, runs while no other change does, and so does what is to be decided so.
func (w *worker) alone(h handler, c *Call) (val int64, err error) {
	w.single = w.b.moving[c.Nr]
	if val, err = w.locked(h, c); err != errAlone {
		return val, err
	}
	w.single, w.decides = true, true
	defer func() { w.decides = false }()
	return w.locked(h, c)
}

func (w *worker) locked(h handler, c *Call) (int64, error) {
	w.dirs.next()
	settles := w.b.drafts.some.Load() // one that begins later is of another process, and not at its end
	var still sync.Locker = w.b.still.RLocker()
	if w.single || settles {
		still = &w.b.still
	}
	for still.Lock(); w.b.gate.shut(); still.Lock() {
		still.Unlock()
		w.b.gate.wait()
	}
	defer still.Unlock()
	if settles {
		w.b.drafts.settle(w.b)
	}
	if w.decides {
		w.b.drafts.letIn()
	}
	if w.decides && w.b.config.Alone != nil { // not before: a workspace that is held keeps no other one waiting
		over, err := w.b.config.Alone()
		if err != nil {
			return 0, err
		}
		defer over()
	}
	w.memory.Begin(w.call.TID)
	w.wait = func(do func()) {
		still.Unlock()
		defer still.Lock()
		do()
	}
	return h(w, c)
}

func (w *worker) reply(val int64, err error) {
	c := &w.call
	switch {
	case err == nil:
		w.trap.Answer(c.ID, val, 0)
	case err == errAnswered:
	case errors.Is(err, errLeased) && !w.late:
		w.b.later(*c)
	case errors.Is(err, errLeased):
		w.trap.Answer(c.ID, 0, unix.EAGAIN)
	case err == errNotMine, err == caller.ErrHidden && !w.b.anybody[c.Nr]:
		w.letGo(c)
	case err == caller.ErrHidden:
		w.trap.Answer(c.ID, 0, unix.EROFS) // as the others get from the kernel
	case err == errRemoved:
		w.trap.Answer(c.ID, 0, unix.ENOENT)
	default:
		w.trap.Answer(c.ID, 0, errno(err))
	}
}

// maxLeased is how many opens may wait for leases at once; more answer EAGAIN.
const (
	maxLeased  = 16
	leasePause = 20 * time.Millisecond
	leaseLimit = time.Minute // fs.lease-break-time is 45 s by default

	// The history holds a lease for as long as a link or a look at a file takes.
	briefPause = time.Millisecond
	briefLimit = 200 * time.Millisecond
)

// later tries a call again until the kernel has broken the lease that is in
// its way: on a thread of its own, so that nobody else waits. Such a thread
// stays: the stage is bound to the life of the thread that started it, which
// the runtime may have picked for this.
func (b *Broker) later(c Call) {
	select {
	case b.late <- c:
		return
	default:
	}
	if b.leased.Add(1) > maxLeased {
		b.leased.Add(-1)
		b.config.Trap.Answer(c.ID, 0, unix.EAGAIN)
		return
	}
	b.workers.Add(1)
	go b.retry(c)
}

func (b *Broker) retry(c Call) {
	defer b.workers.Done()
	runtime.LockOSThread()
	w := newWorker(b)
	w.late = true
	defer w.drop()
	able := w.becomeHands() == nil
	for {
		w.call = c
		w.away = w.foreign()
		for began, pause := time.Now(), briefPause; ; pause = min(2*pause, leasePause) {
			time.Sleep(pause)
			val, err := int64(0), error(unix.EAGAIN)
			if able {
				val, err = w.alone(b.table[c.Nr], &w.call)
			}
			limit := leaseLimit
			if err == errLeasedBriefly {
				limit = briefLimit
			}
			if !errors.Is(err, errLeased) || time.Since(began) > limit || b.closed.Load() || !w.trap.Valid(c.ID) {
				w.reply(val, err)
				w.end()
				w.release()
				break
			}
		}
		select {
		case c = <-b.late:
		case <-b.turn.over:
			return
		}
	}
}

func errno(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.EIO
}

// gate holds the workers while the workspace is frozen.
type gate struct {
	mu     sync.Mutex
	cond   *sync.Cond
	closed atomic.Bool
}

func (g *gate) init() { g.cond = sync.NewCond(&g.mu) }

func (g *gate) open(open bool) {
	g.mu.Lock()
	g.closed.Store(!open)
	g.mu.Unlock()
	g.cond.Broadcast()
}

func (g *gate) shut() bool { return g.closed.Load() }

func (g *gate) wait() {
	if !g.shut() {
		return
	}
	g.mu.Lock()
	for g.shut() {
		g.cond.Wait()
	}
	g.mu.Unlock()
}
