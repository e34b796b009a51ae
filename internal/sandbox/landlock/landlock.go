// Package landlock puts Landlock, the kernel's unprivileged access control, on
// the calling thread: it still holds should a mount of the
// walls be wrong, and the only file layer where namespaces are refused.
//
// Its words:
//
//   - The ABI is the level of Landlock that the running kernel has: 0 for none,
//     1 (Linux 5.13) and up. Each level adds rights; see [Ruleset] for the
//     levels that things need here.
//   - A right that the ruleset handles is denied everywhere except below the
//     paths of rules that give it. A right that it does not handle is free.
//   - A domain is a thread's ruleset with all earlier ones; children inherit
//     it and cannot leave it.
//   - A scope keeps a domain from reaching processes outside it.
//
// What it means for programs inside a domain:
//
//   - A refused file operation is EACCES, a refused signal or connection EPERM.
//   - A rename or link to a directory where the file would have a right that it
//     lacks now is EXDEV; programs fall back on copying.
//   - A domain that handles files makes every mount, remount, move and
//     pivot_root EPERM, for all descendants and in new namespaces too. A domain
//     of scopes only does not.
//   - Processes of one domain signal and trace each other freely; no process
//     in any domain traces one outside.
//   - Descriptors that are open already keep what they were opened for.
//
// Limits. Landlock does not see metadata: chmod, chown, utimes, extended
// attributes and flock stay as mounts and permissions have them, and so do
// stat, chdir and access. Masks below a granted path are impossible. Reading
// is not restricted below a rule for reading at "/". The rights for TCP ports
// (ABI 4) and for pathname sockets (ABI 9) are not used: network namespaces and
// the view decide these.
//
// This package imports no other package of this module.
package landlock

import "fmt"

// Access is a set of things that a rule lets programs do below a path.
type Access uint8

const (
	// Read opens files for reading and lists directories.
	Read Access = 1 << iota
	// Execute starts programs.
	Execute
	// Write opens files for writing, truncates them, and creates, removes,
	// renames and links names, also between directories that both have it.
	Write
	// Ioctl sends any request to devices that are opened below the path.
	// Terminals need it: without it window size and job control are EACCES.
	Ioctl
	// Truncate cuts files by path, and opens them to be cut, and nothing more:
	// Write contains it. The kernel asks for it at every open, to know whether
	// the descriptor may truncate later, and walks up to "/" where it is not
	// given. A rule for reading ends that walk when it has Truncate.
	Truncate

	// ReadExec is for what programs may use but not change.
	ReadExec = Read | Execute
	// ReadWrite is everything.
	ReadWrite = Read | Execute | Write | Ioctl | Truncate
)

// Rule gives Access to a file, or to a directory and all below it. For a file
// that is no directory only the parts that make sense for it count.
type Rule struct {
	// Path is absolute. Every symlink in it is followed, so where that
	// matters the caller opens the object and gives FD.
	Path string
	// FD is an open descriptor of the object, best O_PATH; it is used where
	// Path is "", and stays open.
	FD     int
	Access Access
}

// Ruleset is what Apply enforces.
//
// Files needs ABI 3 (Linux 6.2): ABI 1 refuses every rename between
// directories, ABI 2 does not stop truncate. From ABI 5 (6.10) on, requests to
// devices are restricted too. Scopes need ABI 6 (6.12).
type Ruleset struct {
	// Files denies every file right that the kernel knows, except by Rules.
	// Without Files there may be no rules.
	Files bool
	Rules []Rule

	// ScopeAbstract refuses connections to abstract Unix sockets that were
	// made outside the domain.
	ScopeAbstract bool
	// ScopeSignal refuses signals to processes outside the domain.
	ScopeSignal bool

	// MinABI is the lowest ABI that the caller accepts beyond what the fields
	// above need; 5 makes sure of devices. 0 asks for nothing.
	MinABI int
}

// Applied is what holds now. A zero value holds nothing.
type Applied struct {
	ABI     int  // of the running kernel; may be above what this package uses
	Files   bool // file rights are handled
	Devices bool // and requests to devices among them
	Scopes  Scope
}

// Scope is a set of scopes.
type Scope uint8

const (
	Abstract Scope = 1 << iota // abstract Unix sockets
	Signal                     // signals
)

// UnsupportedError says that the kernel lacks something that was asked for.
// Nothing was applied.
type UnsupportedError struct {
	Feature string // what was asked for
	Found   int    // the kernel's ABI, 0 for a kernel without Landlock
	Needed  int    // the lowest ABI that has it
}

func (e *UnsupportedError) Error() string {
	if e.Found == 0 {
		return fmt.Sprintf("landlock %s: needs ABI %d, this kernel has no Landlock or it is off (CONFIG_SECURITY_LANDLOCK, boot option lsm=)", e.Feature, e.Needed)
	}
	return fmt.Sprintf("landlock %s: needs ABI %d, this kernel has ABI %d", e.Feature, e.Needed, e.Found)
}
