package hostview

import (
	"fmt"
	"path"
	"time"

	"carrel/internal/policy"
)

// Options says for whom and for what the host is inspected.
type Options struct {
	Home    string // canonical home directory; "" when there is none
	Project string // canonical project directory
	UID     int
	GID     int
	User    string // name to use where the uid is in no file (LDAP); may be ""
	// Environ is the outside environment, "NAME=value" each. It names
	// toolchain directories (NVM_DIR, GOPATH) and nothing else is taken from it.
	Environ  []string
	HomeMode policy.HomeMode
	// HomeGranted says that a rule of the user's grants all of home, whatever
	// HomeMode says.
	HomeGranted bool
	// NameServer is the address that names are asked of inside, "" for the host's.
	NameServer string
	Git        GitKeys
	Image      bool      // the system inside is another one: nothing of this one's is shown
	Looked     []byte    // what the [View.Looked] of an earlier look at this project gave; nil for none
	began      time.Time // of the look, in tests; else now
	Root       string    // prefix of every path that is looked at, for tests; "" is the real root
}

// GitKeys is what git inside has of the person's credentials: programs of ours that
// stand for them.
type GitKeys struct {
	Helper     string // absolute path of its credential helper, "" for none
	Format     string // of signatures, "" where none are made
	SigningKey string
	GPG        string // absolute path of what signs as gpg, "" for none
}

// File is a generated file. It replaces what is at Path inside, or is created
// there where the directory is private. It wins over rules, also over a Deny of
// a directory above it. It is owned by the user of the workspace.
type File struct {
	Path   string
	Data   []byte
	Perm   uint32 // permission bits
	Reason string
}

// Cache is a directory whose changes are kept per project and never reach the
// host.
type Cache struct {
	Path   string
	Name   string // key of the private directory: letters, digits, '-', unique in a View
	Reason string
	// Create asks for a private directory even where the host has none.
	Create bool
	// Private means: never show what the host has at Path.
	Private bool
	// Keep means that the host's content is needed (shims, browsers): where no
	// overlay can be made, bind it read-only instead of an empty directory.
	Keep bool
}

// Symlink is a link to create inside, with its text as it is on the host.
type Symlink struct{ Path, Target string }

// View is what a workspace sees by default.
type View struct {
	// Rules are the default file rules; Source.Text gives the reason, such as
	// "toolchain nvm" or "secret: AWS credentials".
	Rules []policy.FileRequest
	// System lists the existing system directories, for policy.Scope.System.
	System []string
	// Symlinks are links at the root (merged /usr) and on the way to something
	// visible.
	Symlinks []Symlink
	Files    []File
	Caches   []Cache
	// PathDirs go behind the system's directories on PATH.
	PathDirs []string
	// Env holds variables that the defaults need, set inside.
	Env map[string]string
	// ExtraRead lists single files and directories outside System that
	// something in System points to; to be bound read-only.
	ExtraRead []string
	// Repositories are the directories in the project, at any depth, that hold a .git, or are
	// git directories of another name; but for those in what was installed.
	Repositories []string
	// Directories are those of the project in which secrets were looked for, the upper ones first and
	// [MaxDirectories] at most.
	Directories []string
	// Looked gives what the next look at the project may begin with, see [Options]; nil for
	// nothing new, and the second time. It must be kept where nothing inside can write: what
	// it says is not looked at again. It is nil where the project was not looked at.
	Looked func() []byte
	// Notes are sentences for a person: what was left out and why.
	Notes []string
}

// Inspect looks at the host and returns the default view. It fails only where
// no safe answer exists: on another operating system, for paths that are not
// absolute, or for a project too large to be looked through. What cannot be read is left out and said in Notes.
func Inspect(o Options) (*View, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	in := newInspector(o)
	if !o.Image {
		in.system()
	}
	in.homeRule()
	in.secrets.known()
	if err := in.secrets.inProject(); err != nil {
		return nil, err
	}
	if !o.Image {
		(&toolFinder{in.o, in.h, in.env, in.base, in.secrets, in.out}).all()
		in.prefix()
	}
	in.accounts()
	in.names()
	if !o.Image {
		in.certificates()
	}
	in.ssh()
	in.git()
	in.shell()
	in.out.finish()
	return in.out.view, nil
}

// check refuses paths that later steps could not reason about.
func (o Options) check() error {
	if err := checkPath("home", o.Home, true); err != nil {
		return err
	}
	return checkPath("project", o.Project, false)
}

// checkPath accepts an absolute, clean path, or "" where empty says so.
func checkPath(what, p string, empty bool) error {
	if p == "" && empty {
		return nil
	}
	if !path.IsAbs(p) || path.Clean(p) != p {
		return fmt.Errorf("inspecting the host: %s %q: want an absolute path without '.', '..' or '//'", what, p)
	}
	return nil
}

// inspector carries the state of one Inspect.
type inspector struct {
	o       Options
	h       *host
	env     map[string]string
	base    bases
	secrets *secretFinder
	out     *collector
}

func newInspector(o Options) *inspector {
	in := &inspector{
		o:   o,
		h:   newHost(o.Root),
		env: environMap(o.Environ),
		out: &collector{seen: make(map[string]bool, 128), view: &View{Env: map[string]string{}}},
	}
	in.base = newBases(o.Home, in.env)
	in.secrets = &secretFinder{o: o, h: in.h, base: in.base, hidden: make(secretIndex, 64), out: in.out}
	return in
}

// wantsHome tells whether anything of the home directory may be used.
func (o *Options) wantsHome() bool {
	return o.Home != "" && o.HomeMode != policy.HomeNone
}

// file adds a generated file at the place that path leads to inside.
func (in *inspector) file(p string, data []byte, perm uint32, reason string) {
	at := in.h.walk(p)
	in.out.link(at.hops)
	in.out.view.Files = append(in.out.view.Files, File{Path: at.path, Data: data, Perm: perm, Reason: reason})
}

// homeRule shows the whole home read-only where that was chosen.
func (in *inspector) homeRule() {
	if in.o.HomeMode == policy.HomeFull && in.o.Home != "" {
		in.out.rule(in.o.Home, policy.Read, "home full")
	}
}
