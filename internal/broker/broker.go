// Package broker answers the trapped system calls that change a workspace's files: it
// resolves the path, has the change decided and recorded, and carries it out.
//
// Inside the walls the workspace's roots are mounted read-only. A seccomp filter stops every
// system call that would change them and hands it to a [Broker] in the supervisor. The broker
// reads the call's arguments once, and resolves the path in the mirror to a pinned parent
// directory. The mirror is a copy of the workspace's own mount layout whose roots are
// read-write, masks included. The broker asks its [Decider], tells its [Recorder], and carries
// the call out itself. It answers with the result or with a descriptor installed in the caller.
//
// Three rules hold everything together. What the broker does not take is
// continued, and meets the read-only mount: continuing is never a permission.
// A caller gets descriptors of the mirror for regular files only, opened for the
// access that it asked for; one that cannot write comes from its own view. The
// threads that carry out have the caller's user and groups, no capability, and
// act through pinned descriptors of the mirror.
//
// With Config.Reads the filter stops opens for reading as well. Nothing native
// refuses those, so that none of them is continued: see read_linux.go.
//
// The broker knows no policy and no journal: both come in as interfaces. It
// must not open a path of the host by name. In the mirror it follows no magic
// link of procfs; for reading it follows what the caller could have followed.
package broker

// Operations, as decisions, records and denials name them.
const (
	OpOpen     = "open"     // an existing file, for writing
	OpCreate   = "create"   // a new regular file
	OpMkdir    = "mkdir"    // a new directory
	OpMknod    = "mknod"    // a new FIFO, socket or regular file by mknod(2)
	OpSymlink  = "symlink"  // a new symbolic link
	OpLink     = "link"     // a new name (To) of an existing inode (Path)
	OpUnlink   = "unlink"   // a name of a file goes
	OpRmdir    = "rmdir"    // an empty directory goes
	OpRename   = "rename"   // Path becomes To
	OpExchange = "exchange" // Path and To change places
	OpTruncate = "truncate" // truncate(2) by path
	OpChmod    = "chmod"
	OpChown    = "chown"
	OpUtimes   = "utimes"
	OpSetxattr = "setxattr"
	OpIoctl    = "ioctl" // inode flags and the like
	OpBind     = "bind"  // a Unix socket's name
	OpExec     = "exec"  // a program is started, where the policy limits which may be: a refusal is told, the kernel enforces it
	OpRead     = "read"  // an open for reading, with Config.Reads; a start too
)

// Kind is the type of a file system object before a change.
type Kind uint8

const (
	KindNone Kind = iota // there was nothing
	KindFile
	KindDir
	KindSymlink
	KindOther
)

// Seen is what the broker saw at a path just before a change.
type Seen struct {
	Dev, Ino            uint64
	Birth, Mtime, Ctime int64 // in nanoseconds since 1970; no birth where the file system keeps none
	Size                uint64
	Links, Mode         uint32
	Kind                Kind // KindNone where there was nothing, or nothing was looked at
}

// Inode tells one object of a file system from all others, as long as it is there.
type Inode struct{ Dev, Ino uint64 }

// Change is one mutation about to be made. Paths are canonical and absolute, as
// they look inside; they are bytes, not UTF-8.
type Change struct {
	Op   string
	Path string
	To   string // rename, exchange, link: the new name
	Text string // symlink: where it leads
	Kind Kind   // what is at Path
	Over Kind   // rename, link: what is at To

	TID uint32 // the thread that asks for it, in the supervisor's pid namespace; 0 in a question
	// Label is that of the command that asks for it under another kernel, see package sandbox.
	Label uint64
	// Copied: To becomes a copy of Path, which goes, and not Path itself.
	Copied bool
	// Hides, of a chmod: the owner may not read what is at Path afterwards.
	Hides bool
	// Mode, of a chmod: the new one.
	Mode uint32
	// New, of a rename: it fails if something is at To.
	New bool
	// Unopened, of an open or a truncation that failed: it did so before anybody had the
	// file open for writing.
	Unopened bool
	// Memo is the Recorder's own, from Before to After.
	Memo any

	Asked bool // somebody wants to know whether it may be; nothing is about to be

	// Wait runs what waits for a person: meanwhile the change does not count as
	// under way, so that the workspace can be held. Nil in a question.
	Wait func(func())

	// Dir and Name pin Path for a recorder that keeps the state before; ToDir
	// and ToName pin To. Dir is -1 where only an inode is known.
	Dir, ToDir   int
	Name, ToName string
	// In and ToIn are what Dir and ToDir pin, zero where that is not known for sure.
	In, ToIn Inode
	// Was and WasTo are what the broker saw at Path and at To, where it looked.
	Was, WasTo Seen
	// Pinned is what is at Path itself, for paths only; 0 where it is not known.
	Pinned int
}

// Verdict is what a Decider says.
type Verdict struct {
	Allowed bool
	// Vet, with Allowed, makes a change depend on what a file would then hold; an error
	// refuses it. Of a rename to the file the broker puts its own copy there, which no
	// process has open. Of an open for writing the caller gets a file without a name: what is in it
	// goes to the file once no process can write to it any more. Any other change is refused.
	Vet func(before, after []byte) error
	// Most bounds what is read to vet a change, in bytes; 0 is 1 MiB.
	Most int64
	// Alone asks for the decision once more while no other change is under way.
	Alone bool
	// Empties are files beside one that is removed. They are emptied first, as changes of
	// their own.
	Empties []string
	// For a refusal: the rule, where it was written, and what would allow it.
	Rule, Source, Hint string
}

// Decider says whether a change may be made. It is called concurrently and must
// not block.
type Decider interface {
	Decide(c *Change) Verdict
}

// Recorder is told of every change: Before with the state still as it was,
// After with the outcome (nil for success). An error of Before refuses the
// change with that errno, EIO for an error that is none; ESTALE has the call
// begin again, as something else is at a path by now. Both are called concurrently.
type Recorder interface {
	Before(c *Change) error
	After(c *Change, err error)
}

// Refused is told of each refusal by a decision, concurrently.
type Refused func(c *Change, v Verdict)
