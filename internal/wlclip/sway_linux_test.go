package wlclip

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sway starts a compositor without a screen and gives its socket.
func sway(t *testing.T) (socket string, env []string) {
	t.Helper()
	for _, program := range []string{"sway", "wl-copy", "wl-paste"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is needed: install the packages sway and wl-clipboard", program)
		}
	}
	dir, err := os.MkdirTemp("", "wlclip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte("xwayland disable\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sway", "-c", config)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + dir, "WLR_BACKENDS=headless", "WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman"}
	if os.Getuid() == 0 { // it does not want to be root's
		const nobody = 65534
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		end := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found, _ := filepath.Glob(dir + "/wayland-*.lock"); len(found) == 1 {
			socket = strings.TrimSuffix(found[0], ".lock")
			if c, err := dial(context.Background(), socket); err == nil {
				c.close()
				return socket, []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + dir, "WAYLAND_DISPLAY=" + filepath.Base(socket), "HOME=" + dir}
			}
		}
	}
	t.Fatal("sway did not start")
	return "", nil
}

// TestSway: what wl-copy copies is read, what is set is what wl-paste pastes, with a
// compositor that people use.
func TestSway(t *testing.T) {
	socket, env := sway(t)
	ctx := context.Background()
	open := func() *Clipboard {
		t.Helper()
		b, err := Open(ctx, socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	run := func(in []byte, name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Stdin = env, bytes.NewReader(in)
		var out bytes.Buffer
		if name == "wl-paste" { // wl-copy leaves somebody behind who would hold a pipe
			cmd.Stdout = &out
		}
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return out.Bytes()
	}
	b := open()
	if _, err := b.Types(ctx); !errors.Is(err, ErrEmpty) {
		t.Errorf("before anything was copied: %v", err)
	}
	run([]byte("grüße\n"), "wl-copy")
	if got, err := b.Data(ctx, "text/plain;charset=utf-8"); string(got) != "grüße\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	large := bytes.Repeat([]byte("\x89PNG picture "), 200_000)
	run(large, "wl-copy", "--type", "image/png")
	if got, err := b.Data(ctx, "image/png"); !bytes.Equal(got, large) || err != nil {
		t.Errorf("%d of %d bytes, %v", len(got), len(large), err)
	}
	if list, err := b.Types(ctx); !slices.Equal(list, []string{"image/png"}) || err != nil {
		t.Errorf("%q, %v", list, err)
	}
	if _, err := b.Data(ctx, "text/plain"); err == nil || !strings.Contains(err.Error(), "not offered as") {
		t.Errorf("%v", err)
	}
	ours := open()
	if err := ours.Set(ctx, map[string][]byte{"image/png": large, "text/plain": []byte("text")}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- ours.Serve(ctx) }()
	if got := run(nil, "wl-paste", "--type", "image/png"); !bytes.Equal(got, large) {
		t.Errorf("wl-paste gave %d of %d bytes", len(got), len(large))
	}
	if got := run(nil, "wl-paste", "--no-newline"); string(got) != "text" {
		t.Errorf("wl-paste gave %q", got)
	}
	run([]byte("another"), "wl-copy")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on though something else was copied")
	}
	run(nil, "wl-copy", "--clear")
	if _, err := b.Types(ctx); !errors.Is(err, ErrEmpty) {
		t.Errorf("after it was emptied: %v", err)
	}
}
