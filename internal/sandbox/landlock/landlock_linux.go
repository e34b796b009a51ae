package landlock

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ABI returns the running kernel's Landlock ABI, and 0 where Landlock is not
// built in or switched off. An error means that the question was refused, by a
// seccomp filter for instance.
func ABI() (int, error) {
	r, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return int(r), nil
	case unix.ENOSYS, unix.EOPNOTSUPP:
		return 0, nil
	}
	return 0, fmt.Errorf("asking for the Landlock ABI: %w", errno)
}

// Apply puts r on the calling thread and everything that it starts. The caller
// has locked the goroutine to its thread (runtime.LockOSThread) and set
// no_new_privs on it; without no_new_privs the kernel answers EPERM. There is
// no way back. On an error nothing was applied; what the kernel lacks is an
// *UnsupportedError.
func Apply(r Ruleset) (Applied, error) {
	abi, err := ABI()
	if err != nil {
		return Applied{}, err
	}
	l, err := r.plan(abi)
	if err != nil {
		return Applied{}, err
	}
	fd, err := createRuleset(l)
	if err != nil {
		return Applied{}, err
	}
	defer unix.Close(fd)
	for i, rule := range r.Rules {
		if err := addRule(fd, rule, l.fs); err != nil {
			return Applied{}, fmt.Errorf("landlock rule %d, path %q: %w", i, rule.Path, err)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return Applied{}, fmt.Errorf("entering a Landlock domain: %w", errno)
	}
	return Applied{
		ABI:     abi,
		Files:   l.fs != 0,
		Devices: l.fs&fsIoctlDev != 0,
		Scopes:  scopesOf(l.scopes),
	}, nil
}

func scopesOf(bits uint64) (s Scope) {
	if bits&scopeAbstract != 0 {
		s |= Abstract
	}
	if bits&scopeSignal != 0 {
		s |= Signal
	}
	return s
}

// rulesetAttr is struct landlock_ruleset_attr as of ABI 6. Older kernels accept
// it as long as the fields that they do not know are zero.
type rulesetAttr struct {
	handledFS  uint64
	handledNet uint64
	scoped     uint64
}

func createRuleset(l level) (int, error) {
	attr := rulesetAttr{handledFS: l.fs, scoped: l.scopes}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return -1, fmt.Errorf("creating a Landlock ruleset (files %#x, scopes %#x): %w", l.fs, l.scopes, errno)
	}
	return int(fd), nil // the kernel makes it close-on-exec
}

// addRule adds rule to the ruleset. handled are the rights that the ruleset
// handles; the kernel refuses a rule with others.
func addRule(ruleset int, rule Rule, handled uint64) error {
	fd := rule.FD
	if rule.Path != "" {
		opened, err := openPath(rule.Path)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		defer unix.Close(opened)
		fd = opened
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("looking at descriptor %d: %w", fd, err)
	}
	rights := rule.Access.rights() & handled
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fsOfFile
	}
	if rights == 0 {
		return errors.New("the access means nothing for this object on this kernel")
	}
	return addPathBeneath(ruleset, fd, rights)
}

func openPath(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func addPathBeneath(ruleset, fd int, rights uint64) error {
	// The C struct is packed: 12 bytes, which is where these fields lie.
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return fmt.Errorf("adding rights %#x: %w", rights, errno)
	}
	return nil
}
