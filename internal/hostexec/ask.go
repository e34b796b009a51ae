package hostexec

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Ask makes the lines of a client that wants one command with its own streams, or with a
// terminal: a Hello and an Exec. What comes out is what encoding a [Request] gives, without
// the time that it takes to find out what a request consists of. stdio says how its streams are carried.
func Ask(id ID, command string, args []string, cwd string, env []string, stdio string, tty *Size) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"Hello","version":` + strconv.Itoa(Version) + "}\n")
	b.WriteString(`{"type":"Exec","id":` + string(id) + `,"command":`)
	put := func(s string) {
		text, _ := Bytes(s).MarshalJSON() // of a string, which is never an error
		b.Write(text)
	}
	put(command)
	if len(args) > 0 {
		b.WriteString(`,"args":`)
		for i, a := range args {
			b.WriteByte("[,"[min(i, 1)])
			put(a)
		}
		b.WriteByte(']')
	}
	b.WriteString(`,"cwd":`)
	put(cwd)
	sent := make(map[string]bool)
	for _, e := range env {
		name, v, ok := strings.Cut(e, "=")
		if !ok || name == "" || sent[name] || strings.ToValidUTF8(name, "") != name {
			continue
		}
		if len(sent) == 0 {
			b.WriteString(`,"env":{`)
		} else {
			b.WriteByte(',')
		}
		sent[name] = true
		text, _ := json.Marshal(name)
		b.Write(append(text, ':'))
		put(v)
	}
	if len(sent) > 0 {
		b.WriteByte('}')
	}
	b.WriteString(`,"stdio":"` + stdio + `"`)
	if tty != nil {
		b.WriteString(`,"tty":{"rows":` + strconv.Itoa(int(tty.Rows)) + `,"columns":` + strconv.Itoa(int(tty.Columns)) + `}`)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
