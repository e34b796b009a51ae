package doctor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"carrel/internal/ownfile"
	"carrel/internal/safefile"

	"golang.org/x/sys/unix"
)

// answersFile lies in the state directory.
const answersFile = "doctor"

// Open reads the answers that are kept in the state directory, none where fresh
// is set. A file that another user could have written, that is torn, or of
// another form, boot, program or surroundings counts as none.
func Open(m *Machine, state string, fresh bool) *Answers {
	a := newAnswers(surroundingFacts(m, state)...)
	if dir, err := ownDir(state); err == nil && !fresh {
		if data, err := readOwn(dir); err == nil {
			a.decode(data)
		}
		unix.Close(dir)
	}
	return a
}

// Save keeps the answers for the next time, where there is a state directory
// already. Nothing depends on it.
func (a *Answers) Save(state string) error {
	if !a.fresh {
		return nil
	}
	dir, err := ownDir(state)
	if err != nil {
		return nil // the report says it
	}
	held := os.NewFile(uintptr(dir), state)
	defer held.Close()
	if err := safefile.Replace(ownfile.Dir{File: held}, answersFile, a.encode(), safefile.Options{}); err != nil {
		return fmt.Errorf("keeping the answers in %q: %w", state, err)
	}
	return nil
}

// ownDir opens a directory that nobody else can write.
func ownDir(path string) (int, error) {
	if path == "" {
		return -1, unix.ENOENT
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if _, err := ours(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// readOwn reads the file where nobody else can have written it.
func readOwn(dir int) ([]byte, error) {
	fd, err := unix.Openat(dir, answersFile, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), answersFile)
	defer f.Close()
	st, err := ours(fd)
	if err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return nil, unix.EINVAL
	}
	return io.ReadAll(io.LimitReader(f, maxAnswers+1))
}

// ours insists that a file is this user's and that nobody else can write it.
func ours(fd int) (st unix.Stat_t, err error) {
	if err = unix.Fstat(fd, &st); err == nil && (int(st.Uid) != os.Getuid() || st.Mode&0o022 != 0) {
		err = unix.EPERM
	}
	return st, err
}

// keySettings are sysctls that decide what can be built.
var keySettings = []string{
	"kernel.random.boot_id", "kernel.unprivileged_userns_clone", "kernel.apparmor_restrict_unprivileged_userns", "kernel.yama.ptrace_scope",
	"user.max_user_namespaces", "user.max_mnt_namespaces", "user.max_pid_namespaces", "user.max_ipc_namespaces", "user.max_uts_namespaces",
	"user.max_cgroup_namespaces", "user.max_net_namespaces", "fs.mount-max",
}

// surroundingFacts are all that a yes depends on, as far as it can be read for
// next to nothing.
func surroundingFacts(m *Machine, state string) []string {
	facts := []string{m.Self, m.Release, strconv.Itoa(m.UID), strconv.Itoa(os.Getgid()), state, identity(selfExe), identity(state)}
	for _, name := range keySettings {
		facts = append(facts, m.sysctl(name))
	}
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		link, _ := os.Readlink(filepath.Join("/proc/self/ns", kind))
		facts = append(facts, link)
	}
	for _, file := range []string{"/proc/self/mountinfo", "/proc/self/cgroup", "/proc/self/attr/apparmor/current", "/proc/self/limits"} {
		text, _ := m.Read(file)
		facts = append(facts, text)
	}
	status, _ := m.Read("/proc/self/status")
	for line := range strings.Lines(status) {
		for _, name := range []string{"Seccomp", "NoNewPrivs:", "CapEff:", "CapBnd:", "Groups:"} {
			if strings.HasPrefix(line, name) {
				facts = append(facts, line)
			}
		}
	}
	return facts
}

// identity changes when a file is replaced or written.
func identity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	if info.IsDir() {
		return fmt.Sprint(st.Dev, st.Ino)
	}
	return fmt.Sprint(st.Dev, st.Ino, info.Size(), info.ModTime().UnixNano(), st.Ctim.Nano())
}
