package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/strictjson"
)

// MaxLine bounds a line, in bytes, its newline included.
const MaxLine = 64 << 10

// What is kept of each text of a record, in bytes. Six times that, as JSON may have
// it, fits a line.
const (
	maxWord    = 128
	maxSubject = 2 << 10
	maxText    = 1 << 10
)

const (
	beforeHash = `,"hash":"`
	afterHash  = "\"}\n"
	hashDigits = 2 * sha256.Size
	tailSize   = len(beforeHash) + hashDigits + len(afterHash)
)

// noHash is what the first record of a log has for the hash of the one before.
var noHash = strings.Repeat("0", hashDigits)

// encode makes a line of a record that has its number and what comes before it.
func encode(r api.AuditRecord) (line []byte, hash string, err error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(bounded(r)); err != nil {
		return nil, "", fmt.Errorf("writing an audit record: %w", err)
	}
	body := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	hash = sum(body)
	line = append(body[:len(body)-1], beforeHash...)
	line = append(append(line, hash...), afterHash...)
	if len(line) > MaxLine {
		return nil, "", fmt.Errorf("writing an audit record: a line of %d bytes, at most %d", len(line), MaxLine)
	}
	return line, hash, nil
}

// decode takes a line apart, its newline included. The hash is of the line as it
// stands; that it is of the chain is for the caller to see.
func decode(line []byte) (r api.AuditRecord, hash string, err error) {
	cut := len(line) - tailSize
	if cut < 1 || !bytes.HasPrefix(line[cut:], []byte(beforeHash)) || !bytes.HasSuffix(line, []byte(afterHash)) {
		return r, "", errors.New("it is not a record")
	}
	hash = string(line[cut+len(beforeHash) : len(line)-len(afterHash)])
	body := append(bytes.Clone(line[:cut]), '}')
	if err := strictjson.Decode(body, &r); err != nil {
		return r, "", fmt.Errorf("it is not a record: %w", err)
	}
	if got := sum(body); got != hash {
		return r, "", fmt.Errorf("its hash begins with %.16s, and it says %.16s", got, hash)
	}
	return r, hash, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// bounded cuts what is too long and makes text of what is none.
func bounded(r api.AuditRecord) api.AuditRecord {
	for _, t := range []struct {
		text *string
		most int
	}{
		{&r.Kind, maxWord}, {&r.Who.Kind, maxWord}, {&r.Who.Program, maxText}, {&r.Operation, maxWord}, {&r.Subject, maxSubject}, {&r.Decision, maxWord},
		{&r.Rule, maxText}, {&r.Source, maxText}, {&r.App, maxWord}, {&r.Detail, maxText}, {&r.Ceiling, maxWord},
	} {
		*t.text = clip(*t.text, t.most)
	}
	return r
}

// clip keeps a text within so many bytes, and quotes one that is not UTF-8.
func clip(s string, most int) string {
	long := len(s) > most
	if long {
		n := most
		for n > 0 && n > most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	if !utf8.ValidString(s) {
		s = strconv.Quote(s)
		s = s[:min(len(s), most)]
	}
	if long {
		s += "..."
	}
	return s
}

// unfinished says whether a line without its newline is, as far as it goes, the
// record with that number, and not all of it: what a killed writer leaves, and nothing
// else.
func unfinished(b []byte, seq uint64) bool {
	want := fmt.Appendf(nil, `{"seq":%d,"time":"`, seq)
	n := min(len(b), len(want))
	if len(b) >= MaxLine || !bytes.Equal(b[:n], want[:n]) || bytes.IndexByte(b, '\n') >= 0 {
		return false
	}
	cut := len(b) + 1 - tailSize
	return cut < 0 || !bytes.HasPrefix(b[cut:], []byte(beforeHash)) || !bytes.HasSuffix(b, []byte(afterHash[:2]))
}
