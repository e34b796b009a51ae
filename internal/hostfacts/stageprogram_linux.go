package hostfacts

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// selfExe is the running program, whatever its path says by now.
const selfExe = "/proc/self/exe"

// StageProgram gives the path that a stage is started from, in namespaces of its own: that of
// the small program beside ours, or of our own. It stays open: a program that is replaced takes
// nothing away from one that runs.
var StageProgram = sync.OnceValue(func() string {
	// There the profile of AppArmor, which allows namespaces, is that of our own path.
	if restricted, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); err == nil && string(restricted) != "0\n" {
		return selfExe
	}
	self, err := os.Readlink(selfExe)
	if err != nil {
		return selfExe
	}
	fd, err := openStage(self)
	if err != nil {
		return selfExe
	}
	return "/proc/self/fd/" + strconv.Itoa(fd)
})

// stagePackage is what the stage's program says that it was built from.
const stagePackage = "carrel/cmd/carrel-stage"

// lowest is a descriptor above those that a stage gets.
const lowest = 10

// openStage opens the stage's program beside self. What it does not trust is an error.
func openStage(self string) (int, error) {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(self), stageBeside), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	var own, beside unix.Stat_t
	if err := unix.Stat(selfExe, &own); err != nil {
		return -1, err
	}
	if err := unix.Fstat(int(f.Fd()), &beside); err != nil {
		return -1, err
	}
	// It may be changed by those alone who may change our own.
	if beside.Mode != own.Mode || beside.Uid != own.Uid || beside.Gid != own.Gid || beside.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, os.ErrPermission
	}
	theirs, err := buildinfo.Read(f)
	if err != nil {
		return -1, err
	}
	if ours, ok := debug.ReadBuildInfo(); !ok || theirs.Path != stagePackage || !sameBuild(ours, theirs) {
		return -1, os.ErrInvalid
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, lowest)
}

// sameBuild says whether two programs were built from one state of the source, in one way.
// Of a build from files that were changed since their commit this is not known.
func sameBuild(a, b *debug.BuildInfo) bool {
	return a.Main.Version != "" && a.Main.Version != "(devel)" && !strings.Contains(a.Main.Version, "dirty") &&
		a.Main == b.Main && a.GoVersion == b.GoVersion && slices.Equal(a.Settings, b.Settings)
}
