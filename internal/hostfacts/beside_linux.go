package hostfacts

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// SelfExe is the running program, whatever its path says by now.
const SelfExe = "/proc/self/exe"

// StageProgram gives the path that a stage is started from, in namespaces of its own: that of
// the small program beside ours, or of our own. It stays open: a program that is replaced takes
// nothing away from one that runs.
var StageProgram = sync.OnceValue(func() string {
	// There the profile of AppArmor, which allows namespaces, is that of our own path.
	if restricted, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); err == nil && string(restricted) != "0\n" {
		return SelfExe
	}
	self, err := os.Readlink(SelfExe)
	if err != nil {
		return SelfExe
	}
	f, err := openBeside(self, stageBeside)
	if err != nil {
		return SelfExe
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, lowest)
	if err != nil {
		return SelfExe
	}
	return "/proc/self/fd/" + strconv.Itoa(fd)
})

// lowest is a descriptor above those that a stage gets.
const lowest = 10

// FileProgram gives the small program that carries out requests of file tools inside, false
// where our own has to do it.
func FileProgram(self string) (at string, ok bool) {
	f, err := openBeside(self, fileBeside)
	if err != nil {
		return "", false
	}
	defer f.Close()
	return f.Name(), true
}

// openBeside opens a program of ours beside self. What it does not trust is an error.
func openBeside(self, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(self), name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := trusted(f, name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// trusted says whether a program is of our own build, and may be changed by those alone who
// may change our own.
func trusted(f *os.File, name string) error {
	if err := ownedAlike(f); err != nil {
		return err
	}
	theirs, err := buildinfo.Read(f)
	if err != nil {
		return err
	}
	if ours, ok := debug.ReadBuildInfo(); !ok || theirs.Path != "carrel/cmd/"+name || !sameBuild(ours, theirs) {
		return os.ErrInvalid
	}
	return nil
}

// sameBuild says whether two programs were built from one state of the source, in one way.
// Of a build from files that were changed since their commit this is not known.
func sameBuild(a, b *debug.BuildInfo) bool {
	return a.Main.Version != "" && a.Main.Version != "(devel)" && !strings.Contains(a.Main.Version, "dirty") &&
		a.Main == b.Main && a.GoVersion == b.GoVersion && slices.Equal(a.Settings, b.Settings)
}

// ContainedStage is the path of the program that is a container's first process: the small
// one beside ours, or our own.
func ContainedStage() (string, error) {
	self, err := OwnProgram()
	if err != nil {
		return "", err
	}
	f, err := openBeside(self, stageBeside)
	if err != nil {
		return self, nil
	}
	defer f.Close()
	return f.Name(), nil
}

// RelayProgram opens the program that serves the project in a machine. It may be of another
// build: nothing that it says there is trusted.
func RelayProgram() (*os.File, error) { return ownBeside(relayBeside) }

// GvisorProgram opens the program that runs sandboxes of gVisor.
func GvisorProgram() (*os.File, error) { return ownBeside(gvisorBeside) }

// OpensFUSE says why this user cannot mount a file system of FUSE, nil where it can.
func OpensFUSE() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// ownBeside opens a program beside ours, of any build.
func ownBeside(name string) (*os.File, error) {
	self, err := OwnProgram()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(self), name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s has to lie beside carrel, see `make install`: %w", name, err)
	}
	if err := ownedAlike(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s beside carrel has another owner or mode than carrel: %w", name, err)
	}
	return f, nil
}

// ownedAlike says whether a program may be changed by those alone who may change our own.
func ownedAlike(f *os.File) error {
	var own, beside unix.Stat_t
	if err := errors.Join(unix.Stat(SelfExe, &own), unix.Fstat(int(f.Fd()), &beside)); err != nil {
		return err
	}
	if beside.Mode != own.Mode || beside.Uid != own.Uid || beside.Gid != own.Gid || beside.Mode&unix.S_IFMT != unix.S_IFREG {
		return os.ErrPermission
	}
	return nil
}
