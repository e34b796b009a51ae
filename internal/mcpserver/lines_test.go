package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"pgregory.net/rapid"
)

// TestEachLineHasItsEnd has a client say lines of every kind, in pieces of any size: each
// message is handed on once and in order, and each line that is none is answered once.
func TestEachLineHasItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var said, want, wrong strings.Builder
		for i := range rapid.IntRange(0, 12).Draw(t, "lines") {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
			switch rapid.SampledFrom([]string{"message", "two", "blank", "text", "number", "list", "mixed"}).Draw(t, "line") {
			case "message":
				said.WriteString(message)
				want.WriteString(message + "\n")
			case "two":
				fmt.Fprintf(&said, " [%s,%s]\r", message, message)
				want.WriteString(message + "\n" + message + "\n")
			case "blank":
				said.WriteString(" \t")
			case "text":
				said.WriteString("{" + message)
				fmt.Fprintln(&wrong, "null", jsonrpc.CodeParseError)
			case "number":
				fmt.Fprintf(&said, `{"jsonrpc":"2.0","id":%d.5,"method":"ping"}`, i)
				fmt.Fprintf(&wrong, "%d.5 %d\n", i, jsonrpc.CodeInvalidRequest)
			case "list":
				said.WriteString("[]")
				fmt.Fprintln(&wrong, "null", jsonrpc.CodeInvalidRequest)
			case "mixed":
				fmt.Fprintf(&said, `[1,%s,{"id":"x"}]`, message)
				want.WriteString(message + "\n")
				fmt.Fprintf(&wrong, "null %d\n\"x\" %[1]d\n", jsonrpc.CodeInvalidRequest)
			}
			said.WriteString("\n")
		}
		for _, in := range []io.Reader{strings.NewReader(said.String()), iotest.OneByteReader(strings.NewReader(said.String()))} {
			var answers strings.Builder
			l := newLines(io.NopCloser(in), func(id json.RawMessage, code int64, _ string) {
				if id == nil {
					id = json.RawMessage("null")
				}
				fmt.Fprintf(&answers, "%s %d\n", id, code)
			})
			got, err := io.ReadAll(bufio.NewReaderSize(l, 16))
			if err != nil || string(got) != want.String() || answers.String() != wrong.String() {
				t.Fatalf("%q:\nhanded on %q, %v, want %q\nanswered %q, want %q",
					said.String(), got, err, want.String(), answers.String(), wrong.String())
			}
		}
	})
}
