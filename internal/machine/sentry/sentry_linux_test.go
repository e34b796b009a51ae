package sentry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"carrel/internal/gvisor"
	"carrel/internal/interceptor"
	"carrel/internal/machine"
	"carrel/internal/sandbox"
)

// TestChoose: what is asked of other backends is refused with its fix, and so is a missing program.
func TestChoose(t *testing.T) {
	for _, c := range []struct{ engine, image, want string }{
		{"bubblewrap", "", "gVisor makes the walls"},
		{"", "debian", "the system is this machine's"},
		{"", "", "carrel-gvisor has to lie beside carrel"},
	} {
		if _, err := Choose(c.engine, c.image); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestRelayIsFile: a relay that is no file of this host cannot be shown to a sandbox.
func TestRelayIsFile(t *testing.T) {
	if _, err := new(backend).Raise(context.Background(), &sandbox.Plan{}, strings.NewReader("")); err == nil {
		t.Error("raised")
	}
}

// relayAt is where a sandbox has carrel-relay.
const relayAt = "/.carrel-relay"

// TestMain is also carrel-relay in a sandbox: what starts the others, and one of them that looks at its code.
func TestMain(m *testing.M) {
	if os.Args[0] != "carrel-relay" && os.Args[0] != relayAt {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case gvisor.StartsArg:
		fmt.Fprintln(os.Stderr, gvisor.Starts())
	case "-listen":
		fmt.Fprintln(os.Stderr, "ready")
		fmt.Fprintln(os.Stderr, keepsCode())
	default:
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(1)
}

// keepsCode says whether what the kernel has written into this program's code is there when the memory of
// that has been let go.
func keepsCode() string {
	ball := make(chan bool)
	for range 2 {
		go func() {
			runtime.LockOSThread() // so that each pass is a system call
			for range ball {
				ball <- true
			}
		}()
	}
	for range 100 {
		ball <- true
		<-ball
	}
	before, err := written()
	sandbox.ForgetStartCode()
	after, err2 := written()
	if err = errors.Join(err, err2); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("written before: %t, gone: %t", before > 0, after < before)
}

// written counts the bytes of this program's code that are not those of its file.
func written() (bytes int, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	memory, err1 := os.Open("/proc/self/mem")
	file, err2 := os.Open("/proc/self/exe")
	if err = errors.Join(err1, err2); err != nil {
		return 0, err
	}
	defer memory.Close()
	defer file.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to, offset int64
		if n, _ := fmt.Sscanf(line, "%x-%x r-xp %x", &from, &to, &offset); n != 3 || !strings.HasSuffix(line, relayAt+"\n") {
			continue
		}
		have, want := make([]byte, to-from), make([]byte, to-from)
		if _, err := memory.ReadAt(have, from); err != nil {
			return 0, err
		}
		if _, err := file.ReadAt(want, offset); err != nil {
			return 0, err
		}
		for i := range have {
			if have[i] != want[i] {
				bytes++
			}
		}
	}
	return bytes, nil
}

// built builds a program of ours.
func built(t *testing.T, dir, name string) *os.File {
	t.Helper()
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", "carrel/cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// raised starts a sandbox whose processes are of a program.
func raised(t *testing.T, relay func(dir string) *os.File) (machine.Guest, io.Closer) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("opening /dev/fuse may take root")
	}
	dir, ctx := t.TempDir(), context.Background()
	b := &backend{program: built(t, dir, "carrel-gvisor")}
	plan := &sandbox.Plan{Mounts: []sandbox.Mount{
		{Kind: sandbox.MountProc, Target: "/proc", Dir: true, Optional: true},
		{Kind: sandbox.MountTmpfs, Target: "/dev", Perm: 0o755, Dir: true},
		{Kind: sandbox.MountDevice, Source: "/dev/null", Target: "/dev/null"},
		{Kind: sandbox.MountTmpfs, Target: "/tmp", Perm: 0o777, Dir: true}, // where runsc makes a root for the sentry
		{Kind: sandbox.MountTmpfs, Target: "/run", Perm: 0o755, Dir: true},
	}}
	g, err := b.Raise(ctx, plan, relay(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	server, err := interceptor.New(interceptor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	mounted, err := g.Mount(ctx, nil, server)
	if err != nil {
		t.Fatal(err)
	}
	return g, mounted
}

// TestSandbox: in a sandbox, a real one, the relay listens; all of it ends together.
func TestSandbox(t *testing.T) {
	g, mounted := raised(t, func(dir string) *os.File { return built(t, dir, "carrel-relay") })
	over := make(chan struct{})
	listens, err := g.Listen(context.Background(), []string{"7=127.0.0.1:7"}, func(in io.Reader, _ io.Writer) error {
		defer close(over)
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []io.Closer{g, listens, mounted} {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
	<-over
}

// TestCodeStays: gVisor writes into the code of a program, and that stays when the memory of the code is
// let go; the last words of a process that ends a sandbox are told.
func TestCodeStays(t *testing.T) {
	g, _ := raised(t, func(string) *os.File {
		at, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		self, err := os.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { self.Close() })
		return self
	})
	served := make(chan error, 1)
	listens, err := g.Listen(context.Background(), nil, func(in io.Reader, _ io.Writer) error {
		_, err := io.Copy(io.Discard, in)
		served <- err
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("written before: %t, gone: false; carrel-relay -listen has ended: exit status 1", runtime.GOARCH == "amd64")
	if err := <-served; err == nil || err.Error() != want {
		t.Errorf("the last words are %v, want %s", err, want)
	}
	if err := listens.Close(); err != nil {
		t.Error(err)
	}
}
