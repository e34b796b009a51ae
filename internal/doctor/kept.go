package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Answers remember which expensive questions a machine has answered with yes.
// Refusals are asked again each time: somebody is about to change them. What
// could change a yes is in the key: boot, program, user, namespaces, mounts,
// filters and settings.
type Answers struct {
	mu    sync.Mutex
	key   string
	yes   map[string]bool
	kept  int  // answers that were given from memory
	fresh bool // there are new ones
}

// answersHead begins the file; a change of its form changes the number.
const answersHead = "carrel-doctor 1"

// maxAnswers bounds what is read of the file.
const maxAnswers = 16 << 10

// On is the machine with answers: what was answered with yes is not asked again.
func (a *Answers) On(m *Machine) *Machine {
	with := *m
	with.Namespace = func(kinds ...Kind) error {
		name := "namespace"
		for _, k := range kinds {
			name += " " + string(k)
		}
		return a.ask(name, func() error { return m.Namespace(kinds...) })
	}
	with.Memory = func() error { return a.ask("memory", m.Memory) }
	with.Try = func(t Trial) error { return a.ask("try "+string(t), func() error { return m.Try(t) }) }
	with.Cgroup = func(c string) error { return a.ask("cgroup "+c, func() error { return m.Cgroup(c) }) }
	return &with
}

// Kept counts the answers that were given from memory.
func (a *Answers) Kept() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept
}

func (a *Answers) ask(name string, probe func() error) error {
	a.mu.Lock()
	known := a.yes[name]
	if known {
		a.kept++
	}
	a.mu.Unlock()
	if known {
		return nil
	}
	err := probe()
	if err == nil {
		a.mu.Lock()
		a.yes[name], a.fresh = true, true
		a.mu.Unlock()
	}
	return err
}

// encode is the file: head, key, one answer a line, and a sum over all of it.
func (a *Answers) encode() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	lines := []string{answersHead, a.key}
	for name := range a.yes {
		lines = append(lines, name)
	}
	slices.Sort(lines[2:])
	text := strings.Join(lines, "\n") + "\n"
	return []byte(text + "sum " + sum(text) + "\n")
}

// decode takes the answers of a file with this key; whatever is wrong with it,
// it has none.
func (a *Answers) decode(data []byte) {
	at := strings.LastIndex(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(data) > maxAnswers || at < 0 {
		return
	}
	text, last := string(data[:at+1]), string(data[at+1:])
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if last != "sum "+sum(text)+"\n" || len(lines) < 2 || lines[0] != answersHead || lines[1] != a.key {
		return
	}
	for _, name := range lines[2:] {
		a.yes[name] = true
	}
}

// newAnswers begins with none.
func newAnswers(facts ...string) *Answers {
	return &Answers{key: sum(fmt.Sprintf("%q", facts)), yes: make(map[string]bool)}
}

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}
