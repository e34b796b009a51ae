package shim

import (
	"encoding/json"
	"os"

	"carrel/internal/fdpass"
	"carrel/internal/hostexec"
)

// say sends one line.
func (r *run) say(q *hostexec.Request) error {
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	r.saying.Lock()
	defer r.saying.Unlock()
	return fdpass.Send(r.conn, append(line, '\n'))
}

// feed sends what comes on standard input, until its end.
func (r *run) feed() {
	if r.terminal {
		r.awaitFront()
	}
	buf := make([]byte, hostexec.MaxChunk/2)
	for {
		n, err := os.Stdin.Read(buf)
		if r.say(&hostexec.Request{Type: hostexec.TypeStdin, ID: id, Data: buf[:n], EOF: err != nil}) != nil || err != nil {
			return
		}
	}
}

// show writes what the command has said. Where its output cannot be written it is ended.
func (r *run) show(reply *hostexec.Reply) {
	to, i := os.Stdout, 1
	if reply.Stream == hostexec.StreamStderr {
		to, i = os.Stderr, 2
	}
	if r.lost[i] != nil {
		return
	}
	if _, r.lost[i] = to.Write(reply.Data); r.lost[i] != nil {
		_ = r.say(&hostexec.Request{Type: hostexec.TypeCancel, ID: id})
	}
}
