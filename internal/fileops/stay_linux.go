package fileops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// Staying: to start a program takes longer than to read a file. Started with [Stay] as its
// one argument the helper goes on after a request: its standard input is a socket at which
// it takes [Call] after Call, each in one message (SOCK_SEQPACKET) with the three standard
// descriptors that the helper would have been started with, and answers each with one
// byte, the status with which it would have ended. It ends when the socket does, or by a
// signal.

// Call is one start of the helper.
type Call struct {
	Argv []string `json:"argv"` // see [Argv]
	Dir  string   `json:"dir"`  // the current directory
}

// maxCall bounds a Call on the socket.
const maxCall = 64 << 10

// Message is a Call as it is sent.
func (c Call) Message() ([]byte, error) {
	text, err := json.Marshal(c)
	if err == nil && len(text) > maxCall {
		err = fmt.Errorf("a call of a file tool has %d bytes, want at most %d", len(text), maxCall)
	}
	return text, err
}

// stay carries out calls until there are no more.
func stay(ctx context.Context, socket int) int {
	debug.SetGCPercent(100) // it may be there for long
	// The other end sees the end of this one, and how the process ended.
	defer context.AfterFunc(ctx, func() { _ = syscall.Shutdown(socket, syscall.SHUT_RDWR) })()
	buf := make([]byte, maxCall)
	for {
		n, files, err := receive(socket, buf)
		if err != nil || n == 0 {
			return exitAnswered
		}
		status := answerCall(ctx, buf[:n], files)
		for _, f := range files {
			f.Close()
		}
		if syscall.Sendto(socket, []byte{byte(status)}, syscall.MSG_NOSIGNAL, nil) != nil {
			return status
		}
	}
}

// receive takes one message and the descriptors beside it.
func receive(socket int, buf []byte) (int, []*os.File, error) {
	beside := make([]byte, syscall.CmsgSpace(3*4))
	n, size, _, _, err := syscall.Recvmsg(socket, buf, beside, syscall.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(beside[:size])
	var files []*os.File
	for i := range messages {
		fds, _ := syscall.ParseUnixRights(&messages[i]) // none else
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "standard descriptor"))
		}
	}
	return n, files, err
}

func answerCall(ctx context.Context, message []byte, stdio []*os.File) int {
	var c Call
	if len(stdio) != 3 || json.Unmarshal(message, &c) != nil || len(c.Argv) == 0 {
		return exitUsage
	}
	if err := os.Chdir(c.Dir); err != nil {
		fmt.Fprintf(stdio[2], "carrel: %v\n", err)
		return exitFailed
	}
	return once(ctx, c.Argv, stdio[0], stdio[1], stdio[2])
}
