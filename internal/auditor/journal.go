package auditor

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/api"
)

// journalSocket is where the system's journal takes messages, see
// https://systemd.io/JOURNAL_NATIVE_PROTOCOL/. The journal adds who has sent each, which
// the sender cannot choose.
const journalSocket = "/run/systemd/journal/socket"

// sink sends records to the system's journal. It may be nil.
type sink struct {
	to *net.UnixConn
	of api.AuditSession

	mu  sync.Mutex
	bad error // why the last record could not be sent; nil where it was
}

// export connects to the journal where that is asked.
func (a *Auditor) export(o Options) error {
	if !o.Journal {
		return nil
	}
	return a.exportTo(journalSocket, o.Of)
}

func (a *Auditor) exportTo(socket string, of api.AuditSession) error {
	to, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("audit.journald: %w", err)
	}
	a.journal = &sink{to: to, of: of}
	return nil
}

func (j *sink) send(r api.AuditRecord) {
	if j == nil {
		return
	}
	_, err := j.to.Write(j.message(r))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bad = err
}

func (j *sink) err() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bad
}

func (j *sink) close() {
	if j != nil {
		j.to.Close()
	}
}

// message is a record in the journal's own form.
func (j *sink) message(r api.AuditRecord) []byte {
	words := []string{"carrel", r.Kind, r.Operation, r.Subject}
	if r.Decision != "" {
		words = append(words, "("+r.Decision+")")
	}
	record, _ := json.Marshal(r)
	var out bytes.Buffer
	for _, f := range [][2]string{
		{"MESSAGE", strings.Join(words, " ")}, {"PRIORITY", "6"}, {"SYSLOG_IDENTIFIER", "carrel"},
		{"CARREL_WORKSPACE", j.of.ID}, {"CARREL_PROJECT", string(j.of.Project)}, {"CARREL_POLICY", j.of.Policy},
		{"CARREL_VERSION", j.of.Version}, {"CARREL_USER", strconv.Itoa(j.of.UID)},
		{"CARREL_KIND", r.Kind}, {"CARREL_DECISION", r.Decision}, {"CARREL_RECORD", string(record)},
	} {
		// With its length, so that no value can begin a field of its own.
		out.WriteString(f[0] + "\n")
		_ = binary.Write(&out, binary.LittleEndian, uint64(len(f[1])))
		out.WriteString(f[1] + "\n")
	}
	return out.Bytes()
}
