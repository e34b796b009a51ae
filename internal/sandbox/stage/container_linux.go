package stage

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// contained is the first process of a container: it connects to the supervisor, starts
// the stage in namespaces of its own and waits for its end. What the engine has given
// the container, the host's files among it, is for these two alone: the stage makes a
// root of its own before it starts a command.
func contained(args []string) error {
	uid, gid, newNet, err := containerArgs(args)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: sandbox.ContainerSocket})
	}
	if err != nil {
		return failed("connecting to the supervisor", sandbox.ContainerSocket, err)
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("opening", "/dev/null", err)
	}
	env := slices.Clone(sandbox.StageEnv)
	for _, e := range os.Environ() {
		env = append(env, sandbox.ImageVariable+e)
	}
	nothing := uintptr(null)
	pid, err := syscall.ForkExec("/proc/self/exe", []string{sandbox.StageArg0, sandbox.NestedArg}, &syscall.ProcAttr{
		Dir: "/", Env: env, Files: []uintptr{nothing, nothing, nothing, uintptr(fd)}, Sys: sandbox.NestedAttributes(uid, gid, newNet),
	})
	if err != nil {
		newLink(fd).setupFailed(failed("creating namespaces in the container", "", err))
		return err
	}
	unix.Close(fd) // its end is the stage's
	for {
		if got, err := unix.Wait4(-1, nil, 0, nil); got == pid || err != nil && err != unix.EINTR {
			return nil
		}
	}
}

func containerArgs(args []string) (uid, gid int, newNet bool, err error) {
	if len(args) != 3 {
		return 0, 0, false, failed("starting in the container", "", fmt.Errorf("%d arguments", len(args)))
	}
	uid, err = strconv.Atoi(args[0])
	if err == nil {
		gid, err = strconv.Atoi(args[1])
	}
	return uid, gid, args[2] == "1", failed("starting in the container", "", err)
}

// nested is the stage that the container's first process has started.
func nested(link *link) error {
	imageEnv = imageVariables(os.Environ())
	if err := greet(link); err != nil {
		return err
	}
	return run(link)
}

// imageEnv are the variables that a container's image sets; nil without a container.
var imageEnv map[string]string

// engineVariables are what engines set beside the image.
var engineVariables = []string{"HOME", "HOSTNAME", "TERM", "container", "USER", "LOGNAME", "PWD", "SHLVL"}

// imageVariables takes the image's own from the environment of the first process. Proxies
// are the policy's.
func imageVariables(environ []string) map[string]string {
	out := make(map[string]string)
	for _, e := range environ {
		name, value, ok := strings.Cut(e, "=")
		name, image := strings.CutPrefix(name, sandbox.ImageVariable)
		if !ok || !image || slices.Contains(engineVariables, name) || strings.HasSuffix(strings.ToLower(name), "_proxy") {
			continue
		}
		out[name] = value
	}
	return out
}

// withImage adds the image's variables to those of a command. A path of a command's is
// searched for helpers first, then the image's, then what else it names.
func withImage(env []string) []string {
	if imageEnv == nil {
		return env
	}
	env = slices.Clone(env)
	has := make(map[string]bool)
	for i, e := range env {
		name, value, _ := strings.Cut(e, "=")
		has[name] = true
		if (name == "PATH" || name == "CARREL_PATH") && imageEnv["PATH"] != "" {
			env[i] = name + "=" + joinPaths(value, imageEnv["PATH"])
		}
	}
	for name, value := range imageEnv {
		if !has[name] {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}

// joinPaths puts the image's directories behind those of carrel's own, each once.
func joinPaths(command, image string) string {
	own := func(dir string) bool { return strings.HasPrefix(dir, "/run/carrel/") }
	var out []string
	add := func(path string, wanted func(string) bool) {
		for dir := range strings.SplitSeq(path, ":") {
			if strings.HasPrefix(dir, "/") && wanted(dir) && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	add(command, own)
	add(image, func(dir string) bool { return !own(dir) })
	add(command, func(dir string) bool { return !own(dir) })
	return strings.Join(out, ":")
}
