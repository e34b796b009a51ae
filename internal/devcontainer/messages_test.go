package devcontainer

import (
	"fmt"
	"strings"
	"testing"
)

// TestMessagesAreBounded: a project's keys make no line of their own in a message, and not
// more messages than a person reads.
func TestMessagesAreBounded(t *testing.T) {
	keys := []string{`"a\ncarrel: all is well": 1`, `"\u001b[31m": 1`, `"` + strings.Repeat("k", 5000) + `": 1`}
	for i := range 5000 {
		keys = append(keys, fmt.Sprintf("\"k%d\":\n1", i))
	}
	c, err := Parse([]byte("{"+strings.Join(keys, ",")+"}"), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range c.Ignored {
		if len(i.Key) > 400 || strings.ContainsAny(i.Key, "\n\x1b") {
			t.Errorf("the key %.100q", i.Key)
		}
	}
	if n := len(c.Ignored); n != maxIgnored || c.Ignored[n-1].Key != "..." || c.Ignored[3].Key != "k0" {
		t.Errorf("%d messages, the last is %+v", n, c.Ignored[n-1])
	}
}
