package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// The rows of the suite of the JSON Lines API.
const (
	rowSession   = "carrel stdio, until its session has started"
	rowFiles     = "fs.status"
	rowExecuted  = "agent.execute true, until it has started"
	rowCompleted = "agent.execute true, until step_completed"
	rowListed    = "fs.list"
	rowWritten   = "carrel.write"
	rowHeld      = "a held removal, until it is told, confirmed and done"
)

// stdioServer is a running one, and how it is spoken to: one request at a time.
type stdioServer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startStdio starts one, with a session.
func (p *deskPlace) startStdio(dir string) (*stdioServer, error) {
	cmd := exec.Command(p.b.carrel, "stdio", "--working-dir", dir)
	cmd.Dir, cmd.Env = dir, p.env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &stdioServer{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	if _, err = s.ask("session.start", asked{}); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *stdioServer) stop() {
	s.in.Close()
	_ = s.cmd.Wait()
}

// said is one line of output.
type said struct {
	Type    string          `json:"type"`
	Status  string          `json:"status"`
	Payload map[string]any  `json:"payload"`
	Error   json.RawMessage `json:"error"`
}

// ask wants a response that is no error, and drops events before it.
func (s *stdioServer) ask(kind string, payload any) (map[string]any, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(s.in, `{"type":%q,"request_id":1,"payload":%s}`+"\n", kind, text); err != nil {
		return nil, err
	}
	m, err := s.until("response")
	if err == nil && m.Status != "ok" {
		err = fmt.Errorf("%s: %.300s", kind, m.Error)
	}
	return m.Payload, err
}

func (s *stdioServer) until(kind string) (said, error) {
	for {
		var m said
		line, err := s.out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &m)
		}
		if err != nil || m.Type == kind {
			return m, err
		}
	}
}

// removed has a removal held, allows it, and waits for the end of its command.
func (s *stdioServer) removed() error {
	if _, err := s.ask("agent.execute", asked{"command": "echo > held.txt; rm held.txt"}); err != nil {
		return err
	}
	m, err := s.until("event.safeguard_triggered")
	if err == nil {
		_, err = s.ask("safeguard.confirm", asked{"safeguard_id": m.Payload["safeguard_id"], "action": "allow"})
	}
	if err == nil {
		_, err = s.until("event.step_completed")
	}
	return err
}

// jsonLines measures requests of a program.
func (b *deskSuite) jsonLines() table {
	t := table{title: "JSON Lines", unit: "ms", about: "`carrel stdio` over its standard input and output, in a git repository of 200 files: from the request until the answer, or the event, is read. The first row is from fork until `session.start` is answered: its workspace stands. `carrel.write` changes the file each time, which is a step of the history."}
	return b.desks(t, func(t *table, p *deskPlace) error {
		dir := b.fixture.repo
		s, err := p.startStdio(dir)
		if err != nil {
			return err
		}
		defer s.stop()
		if _, err := s.ask("safeguard.configure", asked{"delete_threshold": 1}); err != nil {
			return err
		}
		version := []string{b.carrel, "version"}
		list := []*contender{{name: rowSession}, {name: rowFiles}, {name: rowShell}, {name: rowExecuted}, {name: rowCompleted}, {name: rowListed}, {name: rowWritten}, {name: rowHeld}}
		for _, c := range list {
			c.dir, c.env, c.argv = dir, p.env, version
		}
		list[2].argv = []string{find("bash"), "-c", "true"}
		count := 0
		b.interleave("JSON Lines", 2*b.rounds, list, func(c *contender) (float64, error) {
			begin := time.Now()
			var err error
			switch c.name {
			case rowShell:
				return b.clock(c)
			case rowSession:
				other, started := p.startStdio(dir)
				took := millis(time.Since(begin))
				if started == nil {
					other.stop()
				}
				return took, started
			case rowFiles:
				_, err = s.ask("fs.status", asked{})
			case rowExecuted, rowCompleted:
				_, err = s.ask("agent.execute", asked{"command": "true"})
				took := millis(time.Since(begin))
				if err == nil {
					_, err = s.until("event.step_completed")
				}
				if c.name == rowExecuted {
					return took, err
				}
			case rowListed:
				_, err = s.ask("fs.list", asked{"path": "group00"})
			case rowWritten:
				count++
				_, err = s.ask("carrel.write", asked{"path": "written.txt", "content": fmt.Sprint(count)})
			case rowHeld:
				err = s.removed()
			default:
				err = errors.New("unknown")
			}
			return millis(time.Since(begin)), err
		})
		t.rows = rows(list)
		t.over(rowCompleted, rowShell, 0, "a command, over fork and exec of it")
		return nil
	})
}
