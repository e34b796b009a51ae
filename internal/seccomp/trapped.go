package seccomp

// trapped holds the rules that come before all others with Options.Broker: what
// the broker is asked, and what must not be believed or taken while it is there.
//
// Not among them are calls on a descriptor that is open for writing (write,
// ftruncate, fallocate, copy_file_range, mmap and their like): the broker
// granted it, or it belongs to a file that is none of the broker's.
var trapped = []rule{
	{
		when: always, condition: openFlags,
		reason: "trapped when flags ask for writing, O_CREAT, O_TRUNC or O_TMPFILE, or for any open where reading is denied by pattern; O_PATH passes",
		names:  "open",
	},
	{
		when: always, condition: openatFlags,
		reason: "as open",
		names:  "openat",
	},
	{
		when: whenFull, errno: eNOSYS, trap: true,
		reason: "its flags are behind a pointer: a continued one could cut a file; programs fall back to openat",
		names:  "openat2",
	},
	{
		when: always, trap: true,
		reason: "makes, moves or removes a name, or cuts a file by its name",
		names: `creat truncate mkdir mkdirat mknod mknodat rmdir unlink unlinkat
			rename renameat renameat2 link linkat symlink symlinkat`,
	},
	{
		when: always, trap: true,
		reason: "changes mode, owner, times or attributes, by name or by any descriptor",
		names:  metadataCalls,
	},
	{
		when: always, condition: accessMode,
		reason: "trapped for W_OK: the mount is read-only, the broker knows what may be written",
		names:  "access",
	},
	{
		when: always, condition: accessatMode,
		reason: "as access",
		names:  "faccessat faccessat2",
	},
	{
		when: always, trap: true,
		reason: "would show a read-only mount; the broker shows what holds through it",
		names:  "statfs fstatfs",
	},
	{
		when: always, trap: true,
		reason: "a Unix socket's name is a file; the family is behind a pointer",
		names:  "bind",
	},
	{
		when: always, trap: true,
		reason: "the broker makes files with the caller's mask and remembers it",
		names:  "umask",
	},
	{
		when: whenUserns, errno: ePERM, trap: true,
		reason: "the broker resolves paths as the caller does, and has to know its root",
		names:  "chroot",
	},
	{
		when: whenFull, errno: ePERM, trap: true,
		reason: "the broker resolves paths as the caller does, and has to know its mount namespace",
		names:  "setns",
	},
	{
		when: always, condition: cloneFlags,
		reason: "new namespaces by nesting level: none has none, userns all but mount namespaces, full all; allowed mount and user namespaces are trapped, as the broker has to know them",
		names:  "clone",
	},
	{
		when: always, condition: unshareFlags,
		reason: "as clone; time namespaces only at level full",
		names:  "unshare",
	},
	{
		when: always, condition: ioctlRequest,
		reason: "trapped: attributes, clones, deduplication, encryption and verity of files; refused: TIOCSTI and TIOCLINUX type into a terminal that is shared with the outside, TIOCCONS takes the console, TIOCSETD loads line disciplines",
		names:  "ioctl",
	},
	{
		when: never, errno: eOPNOTSUPP,
		reason: "a rule set that a program puts on itself would not bind the broker, so the program must not rely on it; answered as where Landlock is switched off at boot",
		names:  "landlock_create_ruleset landlock_add_rule landlock_restrict_self",
	},
	{
		when: always, condition: seccompFlags,
		reason: "a second listener is EBUSY, as in the kernel; plain filters stack",
		names:  "seccomp",
	},
}

// Flags of open and access (asm-generic/fcntl.h; the same on both
// architectures) and of seccomp.
const (
	openPath = 0o10000000
	// Access modes 1 to 3 (3 asks for permission to read and write), O_CREAT,
	// O_TRUNC, and the bit of O_TMPFILE that O_DIRECTORY lacks.
	openChanges = 0o3 | 0o100 | 0o1000 | 0o20000000
	openMakes   = 0o100 | 0o20000000 // O_CREAT and O_TMPFILE's bit
	writeOK     = 2

	setModeFilter = 1 // SECCOMP_SET_MODE_FILTER
	newListenerOn = 8 // SECCOMP_FILTER_FLAG_NEW_LISTENER
)

// brokerNamespaces change what a path means.
const brokerNamespaces = newNS | newUser

// Request is one request of ioctl.
type Request struct {
	Name   string
	Number uint32
}

// TrappedRequests returns the requests of ioctl that are held for the listener
// with Options.Broker, on both architectures.
func TrappedRequests() []Request { return append([]Request(nil), trappedRequests...) }

// trappedRequests change a file through a descriptor that need not be open for
// writing, or with more than its content. Of linux/fs.h, linux/fscrypt.h,
// linux/fsverity.h, linux/msdos_fs.h and fs/ext4/ext4.h; FICLONE and
// FICLONERANGE are Btrfs's own clone requests as well. Others need a descriptor
// open for writing, and change content only, or are for directories, which are
// not granted.
var trappedRequests = []Request{
	{"FS_IOC_SETFLAGS", 0x40086602},
	{"FS_IOC32_SETFLAGS", 0x40046602},
	{"FS_IOC_FSSETXATTR", 0x401c5820},
	{"FS_IOC_SETVERSION", 0x40087602},
	{"FS_IOC32_SETVERSION", 0x40047602},
	{"EXT4_IOC_SETVERSION_OLD", 0x40086604},
	{"FICLONE", 0x40049409},
	{"FICLONERANGE", 0x4020940d},
	{"FIDEDUPERANGE", 0xc0189436},
	{"FS_IOC_ENABLE_VERITY", 0x40806685},
	{"FS_IOC_SET_ENCRYPTION_POLICY", 0x800c6613},
	{"EXT4_IOC_MOVE_EXT", 0xc028660f},
	{"FAT_IOCTL_SET_ATTRIBUTES", 0x40047211},
}

// firstTrappedRequest is at most every number above; terminals are below.
const firstTrappedRequest = 0x10000

// open decides by the flags in argument arg.
func (b *builder) open(arg uint32) {
	path := b.newLabel()
	b.load(argLow(arg))
	b.jumpIf(opJumpAnyBit, openPath, path, next)
	if b.options.Opens {
		b.ret(actionNotify)
		b.mark(path)
		b.ret(actionAllow)
		return
	}
	trap := b.newLabel()
	b.jumpIf(opJumpAnyBit, openChanges, trap, next)
	b.mark(path)
	b.ret(actionAllow)
	b.mark(trap)
	b.ret(actionNotify)
}

// trapBits holds the call when a bit of mask is set in argument arg.
func (b *builder) trapBits(arg, mask uint32) {
	b.load(argLow(arg))
	b.trapUnlessClear(mask)
}

// trapUnlessClear is trapBits for what the accumulator holds.
func (b *builder) trapUnlessClear(mask uint32) {
	trap := b.newLabel()
	b.jumpIf(opJumpAnyBit, mask, trap, next)
	b.ret(actionAllow)
	b.mark(trap)
	b.ret(actionNotify)
}

func (b *builder) seccomp() {
	filter := b.newLabel()
	b.load(argLow(0))
	b.jumpIf(opJumpEqual, setModeFilter, filter, next)
	b.ret(actionAllow)
	b.mark(filter)
	b.load(argLow(1))
	b.allowUnless(opJumpAnyBit, newListenerOn, eBUSY)
}

// metadataCalls change mode, owner, times or attributes, by name or by any
// descriptor.
const metadataCalls = `chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat
	utime utimes futimesat utimensat
	setxattr lsetxattr fsetxattr setxattrat
	removexattr lremovexattr fremovexattr removexattrat file_setattr`
