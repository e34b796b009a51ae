package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// The rows of the suite of the server for agents.
const (
	rowGreeted  = "carrel mcp, until it is greeted"
	rowNothing  = "get_working_directory"
	rowToolBash = "Bash, true"
	rowToolRead = "read_file"
	rowToolEdit = "write_file"
	rowShell    = "native, bash -c true"
	rowToolList = "tools/list"
	rowGate     = "carrel agent gate, as a hook runs it"
)

// mcpServer is a running one, and how it is spoken to: one call at a time.
type mcpServer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

// startMCP starts one and greets it.
func (p *deskPlace) startMCP(dir string) (*mcpServer, error) {
	cmd := exec.Command(p.b.carrel, "mcp", "--display", "none")
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
	s := &mcpServer{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	err = s.ask("initialize", asked{"protocolVersion": "2025-11-25", "capabilities": asked{}, "clientInfo": asked{"name": "bench", "version": "1"}})
	if err == nil {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop lets the server go, with its workspace.
func (s *mcpServer) stop() {
	s.in.Close()
	_ = s.cmd.Wait()
}

// ask wants an answer that is no error.
func (s *mcpServer) ask(method string, params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	s.n++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.n, method, text); err != nil {
		return err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m struct {
			ID     int             `json:"id"`
			Error  json.RawMessage `json:"error"`
			Result struct {
				IsError bool            `json:"isError"`
				Content json.RawMessage `json:"content"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &m); err != nil || m.ID != s.n {
			continue
		}
		if len(m.Error) > 0 || m.Result.IsError {
			return fmt.Errorf("%s: %.200s%.200s", method, m.Error, m.Result.Content)
		}
		return nil
	}
}

func (s *mcpServer) tool(name string, arguments any) error {
	return s.ask("tools/call", asked{"name": name, "arguments": arguments})
}

// agentTools measures calls of tools.
func (b *deskSuite) agentTools() table {
	t := table{title: "Tools for agents", unit: "ms", about: "`carrel mcp` over its standard input and output, in a git repository of 200 files, its workspace running: from the request until the answer is read. `Bash` and the file tools are programs in the workspace; `write_file` changes the file each time, which is a step of the history. The first row is from fork until the server has answered `initialize`, the last one what `carrel agent setup --while-serving` costs each call of a client's own tools."}
	return b.desks(t, func(t *table, p *deskPlace) error {
		dir := b.fixture.repo
		s, err := p.startMCP(dir)
		if err != nil {
			return err
		}
		defer s.stop()
		if err := s.tool("Bash", asked{"command": "true"}); err != nil {
			return err
		}
		version := []string{b.carrel, "version"}
		list := []*contender{{name: rowGreeted}, {name: rowNothing}, {name: rowToolList}, {name: rowShell}, {name: rowToolBash}, {name: rowToolRead}, {name: rowToolEdit}, {name: rowGate}}
		for _, c := range list {
			c.dir, c.env, c.argv = dir, p.env, version
		}
		list[3].argv = []string{find("bash"), "-c", "true"}
		count := 0
		b.interleave("tools for agents", 2*b.rounds, list, func(c *contender) (float64, error) {
			begin := time.Now()
			var err error
			switch c.name {
			case rowShell:
				return b.clock(c)
			case rowGreeted:
				other, greeted := p.startMCP(dir)
				took := millis(time.Since(begin))
				if greeted == nil {
					other.stop()
				}
				return took, greeted
			case rowGate:
				cmd := exec.Command(b.carrel, "agent", "gate", "claude")
				cmd.Dir, cmd.Env, cmd.Stdin = dir, p.env, strings.NewReader(`{"tool_name":"Bash"}`)
				err = cmd.Run()
			case rowNothing:
				err = s.tool("get_working_directory", asked{})
			case rowToolList:
				err = s.ask("tools/list", asked{})
			case rowToolBash:
				err = s.tool("Bash", asked{"command": "true"})
			case rowToolRead:
				err = s.tool("read_file", asked{"path": "group00/dir000/file000.txt"})
			case rowToolEdit:
				count++
				err = s.tool("write_file", asked{"path": "written.txt", "content": fmt.Sprint(count)})
			default:
				err = errors.New("unknown")
			}
			return millis(time.Since(begin)), err
		})
		t.rows = rows(list)
		t.over(rowToolBash, rowShell, 0, "a command by `Bash`, over fork and exec of it")
		return nil
	})
}
