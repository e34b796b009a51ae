package interceptor

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"carrel/internal/broker"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Root is a directory that is served with all below it on its file system.
type Root struct {
	Path  string   // canonical, as it is called inside
	FD    int      // the server makes its own copy
	Names []string // of files, where nothing else of the directory is served
	// Kept says that the other kernel may remember for long what it has seen: no change of it is told,
	// and what another process changes may look old for an hour.
	Kept bool
}

// whole says whether all of a directory is served, and not some of its files alone.
func (r *Root) whole() bool { return r == nil || len(r.Names) == 0 }

// serves says whether what has a name in a directory is served.
func (r *Root) serves(name string) bool { return r.whole() || slices.Contains(r.Names, name) }

// Config is what a [Server] decides by and tells of.
type Config struct {
	Roots    []Root
	Decider  broker.Decider
	Recorder broker.Recorder
	Refused  broker.Refused
	// Masked says whether something is hidden: it has a name, and can neither be read nor
	// entered. nil hides nothing.
	Masked func(path string) bool
	// StandIn gives what is shown of a file in place of its content, nil for a file as it is. Such a
	// file cannot be opened for writing. nil shows all files as they are.
	StandIn func(path string) []byte
	// UID and GID are what the owner of this process's own files is called at the other side;
	// 0 and 0 leave ids as they are.
	UID, GID uint32
	// Unmapped says that the other side is a user namespace in which this process's own user and group
	// are UID and GID, and all others have no number. A kernel removes nothing of an owner without one
	// (EOVERFLOW), so that files of others are shown as this user's, with the access that it has.
	Unmapped bool
	// Labels says that the other side tells the label of who asks (see package sandbox) where a
	// kernel tells its number.
	Labels bool
	// Alone keeps the servers of several runs apart, see [broker.Config].
	Alone func() (func(), error)
}

// Bounds of one server.
const (
	maxNodes   = 1 << 20
	maxHandles = 8192
	maxPins    = 512 // directories that are open to find others
	maxNames   = 8   // of one node
	maxWorkers = 64  // requests at once; some may wait for a person
	maxWrite   = 1 << 20
)

// Server serves roots. Node 1 is a directory that has them by their numbers.
type Server struct {
	config Config
	roots  []*node
	nodes  nodes
	opened handles
	drafts drafts
	watch  watch
	still  sync.RWMutex // held for reading by each change, for writing by one that has to be alone
	gate   gate
	closed atomic.Bool
}

// New pins the roots.
func New(c Config) (*Server, error) {
	s := &Server{config: c}
	s.nodes.init()
	s.gate.init()
	s.watch.init(s)
	for _, r := range c.Roots {
		n, err := s.pinRoot(r)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("pinning %s: %w", r.Path, err)
		}
		s.roots = append(s.roots, n)
	}
	return s, nil
}

// Close lets go of everything. To be called when all that served has returned.
func (s *Server) Close() {
	if s.closed.Swap(true) {
		return
	}
	s.gate.open(true)
	s.watch.close()
	s.endAll()
	s.opened.closeAll()
	s.nodes.closeAll()
	for _, r := range s.roots {
		unix.Close(r.rootFD)
	}
}

// Hold keeps all changes waiting, or lets them go on. When it returns with hold none is
// under way.
func (s *Server) Hold(hold bool) {
	s.gate.open(!hold)
	if hold {
		s.still.Lock()
		defer s.still.Unlock()
	}
}

// calls answer requests, by what they are about. What is in none is not served: locks stay
// the other kernel's own.
type calls struct {
	unserved
	nameCalls
	fileCalls
	metaCalls
	dirCalls
}

type (
	unserved  struct{ fuse.RawFileSystem }
	nameCalls struct{ *Server }
	fileCalls struct{ *Server }
	metaCalls struct{ *Server }
	dirCalls  struct{ *Server }
)

// protocol parses requests that have been checked and calls the server.
func (s *Server) protocol() *fuse.ProtocolServer {
	all := &calls{unserved{fuse.NewDefaultRawFileSystem()}, nameCalls{s}, fileCalls{s}, metaCalls{s}, dirCalls{s}}
	return fuse.NewProtocolServer(all, &fuse.MountOptions{
		MaxWrite: maxWrite, MaxBackground: maxWorkers, Logger: log.New(io.Discard, "", 0),
		PanicHandler: func(any) fuse.Status { return fuse.EIO },
		// Rights of the owner go with a write as on this host, where the kernel takes them.
		ExtraCapabilities: fuse.CAP_HANDLE_KILLPRIV_V2,
		DisabledCapabilities: fuse.CAP_READDIRPLUS | fuse.CAP_READDIRPLUS_AUTO | fuse.CAP_PASSTHROUGH |
			fuse.CAP_NO_OPEN_SUPPORT | fuse.CAP_ALLOW_IDMAP,
	})
}

// gate holds changes while the workspace is paused.
type gate struct {
	mu   sync.Mutex
	cond *sync.Cond
	shut bool
}

func (g *gate) init() { g.cond = sync.NewCond(&g.mu) }

func (g *gate) open(open bool) {
	g.mu.Lock()
	g.shut = !open
	g.mu.Unlock()
	g.cond.Broadcast()
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

func (g *gate) wait() {
	g.mu.Lock()
	for g.shut {
		g.cond.Wait()
	}
	g.mu.Unlock()
}

// shown is what an owner is called at the other side.
func (s *Server) shown(uid, gid uint32) fuse.Owner {
	if s.config.UID == 0 && s.config.GID == 0 && !s.config.Unmapped {
		return fuse.Owner{Uid: uid, Gid: gid}
	}
	called := func(id *uint32, own int, other uint32) {
		if *id == uint32(own) || s.config.Unmapped {
			*id = other
		}
	}
	called(&uid, os.Getuid(), s.config.UID)
	called(&gid, os.Getgid(), s.config.GID)
	return fuse.Owner{Uid: uid, Gid: gid}
}

// mode is the one under which an object is shown with the owner of [Server.shown]: where that is another
// than its own, the owner's access is what this process has.
func (s *Server) mode(st *unix.Statx_t) uint32 {
	mode := uint32(st.Mode)
	if own := os.Getuid(); !s.config.Unmapped || own == 0 || int(st.Uid) == own {
		return mode
	}
	access := mode & 0o7
	if groups, err := os.Getgroups(); int(st.Gid) == os.Getgid() || err == nil && slices.Contains(groups, int(st.Gid)) {
		access = mode >> 3 & 0o7
	}
	return mode&^0o700 | access<<6
}

// status is what the other side is told of an error.
func status(err error) fuse.Status {
	var e unix.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &e):
		return fuse.Status(e)
	}
	return fuse.EIO
}
