package auditor

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestJournal: a record reaches the journal with who, where and under which policy, and no
// text of it becomes a field.
func TestJournal(t *testing.T) {
	at := t.TempDir() + "/journal"
	listen, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Close()
	of := api.AuditSession{ID: "ab12", UID: 7, Project: "/p", Policy: "d1", Version: "v"}
	a, err := OpenRun(t.TempDir(), Options{Of: of, Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.exportTo(at, of); err != nil {
		t.Fatal(err)
	}
	a.Add(api.AuditRecord{Kind: api.AuditDenial, Operation: "open", Subject: "x\nCARREL_POLICY=none", Decision: api.DecisionRefused})
	buf := make([]byte, 1<<16)
	n, err := listen.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for rest := string(buf[:n]); rest != ""; {
		name, more, _ := strings.Cut(rest, "\n")
		size := int(binary.LittleEndian.Uint64([]byte(more)))
		got[name], rest = more[8:8+size], more[8+size+1:]
	}
	want := map[string]string{"CARREL_POLICY": "d1", "CARREL_PROJECT": "/p", "CARREL_USER": "7", "CARREL_VERSION": "v",
		"CARREL_WORKSPACE": "ab12",
		"MESSAGE":          "carrel denial open x\nCARREL_POLICY=none (refused)"}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	listen.Close()
	a.required = "operator"
	a.Add(api.AuditRecord{Kind: api.AuditDenial})
	if d := a.Refuse("exec"); d == nil {
		t.Error("nothing is refused though the journal is gone")
	}
}
