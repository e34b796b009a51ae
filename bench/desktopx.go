package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// plainX is an X server without walls, started as a workspace starts its own; what is
// compared with runs on it.
type plainX struct {
	cmd    *exec.Cmd
	number int
	env    []string
	others []*exec.Cmd
}

// xCookie is the secret of these servers, which nobody else may guess at.
var xCookie = []byte("carrel-measuring")

// startX starts a server with the arguments of another one, its own number and cookie
// file put in their place. It is ready when it has answered a connection.
func startX(like []string, dir string, env []string) (*plainX, error) {
	auth := dir + "/authority"
	if err := os.WriteFile(auth, authority(xCookie), 0o600); err != nil {
		return nil, err
	}
	args := ownArgs(like, freeNumber(), auth)
	s := &plainX{cmd: exec.Command(args[0], args[1:]...)}
	s.cmd.Env = env
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(io.LimitReader(out, 64)).ReadString('\n')
	if err == nil {
		s.number, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err == nil {
		err = greetX(socketOf(s.number), xCookie)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	s.env = append(slices.Clone(env), fmt.Sprintf("DISPLAY=:%d", s.number), "XAUTHORITY="+auth, "DBUS_SESSION_BUS_ADDRESS=disabled:", "NO_AT_BRIDGE=1", "GSETTINGS_BACKEND=memory", "GDK_BACKEND=x11")
	return s, nil
}

// ownArgs are a workspace's server's arguments for another one.
func ownArgs(like []string, number int, auth string) []string {
	args := slices.Clone(like)
	for i, arg := range args {
		if i == 1 && strings.HasPrefix(arg, ":") {
			args[i] = ":" + strconv.Itoa(number)
		}
		if i > 0 && args[i-1] == "-auth" {
			args[i] = auth
		}
	}
	return args
}

// freeNumber gives a display number that nobody uses, far from those of workspaces and
// of servers that look for a free one themselves.
func freeNumber() int {
	for n := 5000 + os.Getpid()%1000; ; n++ {
		if _, err := os.Lstat(socketOf(n)); err != nil {
			return n
		}
	}
}

func socketOf(number int) string { return fmt.Sprintf("/tmp/.X11-unix/X%d", number) }

// authority is an Xauthority file with one cookie for every display: family, then
// address, number, name and secret, each behind its length (Xau's AuFileIo.c).
func authority(cookie []byte) []byte {
	out := []byte{0xff, 0xff}
	for _, part := range []string{"", "", cookieName, string(cookie)} {
		out = binary.BigEndian.AppendUint16(out, uint16(len(part)))
		out = append(out, part...)
	}
	return out
}

const cookieName = "MIT-MAGIC-COOKIE-1"

// greetX connects to a server and waits until it has said welcome: the connection
// setup of the X11 protocol.
func greetX(socket string, cookie []byte) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	hello := []byte{'l', 0, 11, 0, 0, 0, byte(len(cookieName)), 0, byte(len(cookie)), 0, 0, 0}
	hello = append(append(append(hello, cookieName...), 0, 0), cookie...)
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	head := make([]byte, 8)
	if _, err := io.ReadFull(conn, head); err != nil {
		return err
	}
	if head[0] != 1 {
		return fmt.Errorf("the X server refused the connection (%d)", head[0])
	}
	_, err = io.CopyN(io.Discard, conn, 4*int64(binary.LittleEndian.Uint16(head[6:])))
	return err
}

// launch starts a program on it that stays.
func (s *plainX) launch(dir string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, s.env
	if err := cmd.Start(); err != nil {
		return err
	}
	s.others = append(s.others, cmd)
	return nil
}

// stop ends the server and what was started on it. At SIGTERM it takes its socket and
// its lock away.
func (s *plainX) stop() {
	for _, cmd := range slices.Backward(s.others) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait()
	timer.Stop()
}

// until tries again until there is no error, for some seconds.
func until(try func() error) error {
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if err := try(); err == nil || time.Since(start) > 20*time.Second {
			return err
		}
	}
}

// processes lists what a workspace consists of, by the name that the kernel has for
// each, in the order of starting.
func processes(root int) (list []process, err error) {
	tree, err := parents()
	if err != nil {
		return nil, err
	}
	pids := descendants(tree, root)
	slices.Sort(pids[1:])
	for _, pid := range pids {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil { // an error else: it has ended
			list = append(list, process{pid, strings.TrimSpace(string(name))})
		}
	}
	return list, nil
}

type process struct {
	pid  int
	name string
}

// argsOf gives the arguments that a process was started with.
func argsOf(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), err
}
