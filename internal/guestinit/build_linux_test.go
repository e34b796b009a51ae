package guestinit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asMachine is what a process of the test is called that takes steps in a root of its own.
const asMachine = "machine of a test"

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case path.Base(Program): // as a part of the relay that says what it got, and ends with it
		fmt.Fprintln(os.Stderr, "ready", os.Args[1:], len(os.Environ()))
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(5)
	case asMachine:
		if err := takeSteps(os.Args[1]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestSteps: each kind of step makes what it says, in a mount namespace that goes with its process.
func TestSteps(t *testing.T) {
	dir := t.TempDir()
	err := os.MkdirAll(dir+"/served/sub", 0o755)
	if err = errors.Join(err, os.WriteFile(dir+"/served/file", []byte("of the host\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", dir)
	cmd.Args[0] = asMachine
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWNS | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(dir + "/served/file"); err != nil || string(text) != "of the host\n" {
		t.Errorf("the host has %q (%v)", text, err)
	}
}

func takeSteps(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	root := dir + "/root"
	if err := mountNew("tmpfs", root, ""); err != nil {
		return err
	}
	if err := os.MkdirAll(root+FilesDir, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(dir+"/served", root+FilesDir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := os.WriteFile(root+Program, program, 0o755); err != nil {
		return err
	}
	if err := errors.Join(unix.Chroot(root), unix.Chdir("/")); err != nil {
		return err
	}
	if err := obeys(); err != nil {
		return err
	}
	m := new(machine)
	err = m.build([]Step{
		{Kind: Bind, From: "sub", To: "/usr/share", ReadOnly: true},
		{Kind: Bind, From: "file", To: "/etc/file", ReadOnly: true},
		{Kind: Bind, From: "absent", To: "/etc/absent", Optional: true},
		{Kind: Memory, To: "/home/u", Perm: 0o700, Own: true},
		{Kind: Link, From: "../etc/file", To: "/home/u/link"},
		{Kind: Link, From: "elsewhere", To: "/home/u/link"},
		{Kind: File, To: "/home/u/own", Data: []byte("made"), Perm: 0o640, Own: true},
		{Kind: Bind, From: ".", To: "/cache"},
		{Kind: Bind, From: "/home/u/own", To: "/usr/made", Optional: true},
	})
	if err != nil {
		return err
	}
	if err := m.build([]Step{{Kind: "other", To: "/x"}}); err == nil || !strings.Contains(err.Error(), "/x") {
		return fmt.Errorf("of no kind: %w", err)
	}
	if err := m.build([]Step{{Kind: Bind, From: "absent", To: "/y"}}); err == nil {
		return errors.New("what is not served is bound")
	}
	for at, want := range map[string]string{"/etc/file": "of the host\n", "/home/u/../../etc/file": "of the host\n", "/home/u/own": "made"} {
		if text, err := os.ReadFile(at); err != nil || string(text) != want {
			return fmt.Errorf("%s: %q %w", at, text, err)
		}
	}
	if to, err := os.Readlink("/home/u/link"); to != "../etc/file" {
		return fmt.Errorf("the link leads to %q %w", to, err)
	}
	for _, at := range []string{"/etc/file", "/usr/share/new"} {
		if err := os.WriteFile(at, nil, 0o644); !errors.Is(err, unix.EROFS) {
			return fmt.Errorf("writing to %s: %w", at, err)
		}
	}
	if st, err := os.Stat("/home/u"); err != nil || st.Mode().Perm() != 0o700 {
		return fmt.Errorf("home: %v %w", st.Mode(), err)
	}
	if err := m.build([]Step{{Kind: Overlay, To: "/cache"}}); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	if err := os.WriteFile("/cache/file", []byte("changed"), 0o644); err != nil {
		return err
	}
	if text, err := os.ReadFile("/etc/file"); err != nil || string(text) != "of the host\n" {
		return fmt.Errorf("what is below an overlay was changed: %q %w", text, err)
	}
	return nil
}

// obeys gives orders, and looks at what is answered.
func obeys() error {
	orders, give, err := os.Pipe()
	if err != nil {
		return err
	}
	heard, say, err := os.Pipe()
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	near := os.NewFile(uintptr(pair[0]), "near")
	m := &machine{out: say, begun: true, started: make(map[string]*os.Process), open: func(port string) (*os.File, error) {
		if port != "p" {
			return nil, errors.New("no port " + port)
		}
		return os.NewFile(uintptr(pair[1]), port), nil
	}}
	over := make(chan error, 1)
	go func() { over <- m.obey(orders) }()
	answers := bufio.NewScanner(heard)
	for _, step := range []struct{ order, want string }{
		{`{"Begin":{"Time":1}}`, ""}, // it has begun
		{`{"Build":{"Steps":[{"Kind":"link","To":"/a/b","From":"c"}]}}`, `{"Built":true}`},
		{`{"Build":{"Steps":[{"Kind":"bind","To":"/a/c","From":"absent"}]}}`, `"Error":"making /a/c in the machine`},
		{`{"Start":{"Port":"q"}}`, `{"Said":{"Port":"q","Text":"no port q\n"}}`},
		{"", `{"Ended":{"Port":"q","Code":-1}}`},
		{`{"Stop":"q"}`, ""},
		{`{"Start":{"Port":"p","Args":["-x","y"]}}`, `{"Said":{"Port":"p","Text":"ready [-x y] 0\n"}}`},
	} {
		if _, err := io.WriteString(give, step.order+"\n"); err != nil {
			return err
		}
		if step.want != "" && (!answers.Scan() || !strings.Contains(answers.Text(), step.want)) {
			return fmt.Errorf("%s is answered %s", step.order, answers.Text())
		}
	}
	if to, err := os.Readlink("/a/b"); to != "c" {
		return fmt.Errorf("the link leads to %q %w", to, err)
	}
	text := make([]byte, 5)
	if _, err := io.WriteString(near, "hello"); err != nil {
		return err
	}
	if _, err := io.ReadFull(near, text); err != nil || string(text) != "hello" {
		return fmt.Errorf("over its port %q %w", text, err)
	}
	if _, err := io.WriteString(give, `{"Stop":"p"}`+"\n"); err != nil {
		return err
	}
	if !answers.Scan() || answers.Text() != `{"Ended":{"Port":"p","Code":-1}}` {
		return fmt.Errorf("what is stopped is said to be %s", answers.Text())
	}
	give.Close()
	return <-over
}
