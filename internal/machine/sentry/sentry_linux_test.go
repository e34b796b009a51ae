package sentry

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/interceptor"
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

// TestReady: only its own word says that the relay is ready; all else is what went wrong.
func TestReady(t *testing.T) {
	for said, want := range map[string]string{"ready\n": "", "carrel-relay: no\n": "carrel-relay: no", "": "EOF", "ready 1\n": "ready 1"} {
		err := ready(strings.NewReader(said))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// TestRelayIsFile: a relay that is no file of this host cannot be shown to a sandbox.
func TestRelayIsFile(t *testing.T) {
	if _, err := new(backend).Raise(context.Background(), &sandbox.Plan{}, strings.NewReader("")); err == nil {
		t.Error("raised")
	}
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

// TestSandbox: in a sandbox, a real one, the relay listens; all of it ends together.
func TestSandbox(t *testing.T) {
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
	g, err := b.Raise(ctx, plan, built(t, dir, "carrel-relay"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	server, err := interceptor.New(interceptor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	mounted, err := g.Mount(ctx, nil, server)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	listens, err := g.Listen(ctx, []string{"7=127.0.0.1:7"}, func(in io.Reader, _ io.Writer) error {
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
