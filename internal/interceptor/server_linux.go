package interceptor

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"sync/atomic"

	"carrel/internal/broker"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Root is a directory that is served with all below it on its file system.
type Root struct {
	Path string // canonical, as it is called inside
	FD   int    // the server makes its own copy
}

// Config is what a [Server] decides by and tells of.
type Config struct {
	Roots    []Root
	Decider  broker.Decider
	Recorder broker.Recorder
	Refused  broker.Refused
	// Masked says whether something is hidden: it has a name, and can neither be read nor
	// entered. nil hides nothing.
	Masked func(path string) bool
	// UID and GID are what the owner of this process's own files is called at the other side;
	// 0 and 0 leave ids as they are.
	UID, GID uint32
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
	still  sync.RWMutex // held for reading by each change, for writing by one that has to be alone
	gate   gate
	closed atomic.Bool
}

// New pins the roots.
func New(c Config) (*Server, error) {
	s := &Server{config: c}
	s.nodes.init()
	s.gate.init()
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
		// A name or an attribute that is remembered inside would hide what changes outside.
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
	if s.config.UID == 0 && s.config.GID == 0 {
		return fuse.Owner{Uid: uid, Gid: gid}
	}
	if uid == uint32(os.Getuid()) {
		uid = s.config.UID
	}
	if gid == uint32(os.Getgid()) {
		gid = s.config.GID
	}
	return fuse.Owner{Uid: uid, Gid: gid}
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
