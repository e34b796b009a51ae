// Command stdio is a client of `carrel stdio`: it runs one command and takes it back.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
)

// message is a response or an event.
type message struct {
	Type    string
	ID      string `json:"request_id"`
	Payload map[string]any
	Error   *struct{ Code, Message string }
}

func main() {
	cmd := exec.Command("carrel", "stdio", "--working-dir", os.Args[1])
	cmd.Stderr = os.Stderr
	to, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	from := bufio.NewReader(out)
	// until reads lines up to one that is wanted; others are events that this client does not use.
	until := func(wanted func(m message) bool) map[string]any {
		for {
			line, err := from.ReadBytes('\n') // a line may be longer than a bufio.Scanner takes
			var m message
			if err != nil || json.Unmarshal(line, &m) != nil || m.Error != nil {
				log.Fatalf("%v %s", err, line)
			}
			if wanted(m) {
				return m.Payload
			}
		}
	}
	request := func(kind string, payload map[string]any) map[string]any {
		_ = json.NewEncoder(to).Encode(map[string]any{"type": kind, "request_id": kind, "payload": payload})
		return until(func(m message) bool { return m.Type == "response" && m.ID == kind })
	}
	fmt.Println("workspace", request("session.start", nil)["workspace"])
	request("agent.execute", map[string]any{"command": "date > made-by-the-example"})
	step := until(func(m message) bool { return m.Type == "event.step_completed" })
	fmt.Println("step", step["step_id"], "changed", step["affected_paths"])
	fmt.Println("took back", request("undo.rollback", map[string]any{"count": 1})["removed"])
	to.Close()
	fmt.Println("ended:", cmd.Wait())
}
