package hooks

import (
	"errors"
	"fmt"
	"strings"
)

// anyGate stands for the program where gates are looked for.
const anyGate = ""

// A gate is a hook that asks `carrel agent gate` before each tool call of an
// agent whether the agent's own file and shell tools are to be used now. Where
// the program is gone it lets everything through.
const (
	gateStart  = "sh -c 'test -x "
	gateMiddle = " || exit 0; exec "
	gateEnd    = "'"
)

// gateLine is what a gate runs.
func gateLine(program, words string) string {
	return gateStart + program + gateMiddle + program + " " + words + gateEnd
}

// gateProgram recognises a gate and gives the program that it runs.
func gateProgram(command string) string {
	rest, ok := strings.CutPrefix(command, gateStart)
	if !ok {
		return ""
	}
	program, rest, ok := strings.Cut(rest, gateMiddle)
	if !ok || program == "" || strings.Trim(program, wordBytes) != "" {
		return ""
	}
	if rest, ok = strings.CutPrefix(rest, program+" agent gate "); !ok {
		return ""
	}
	if rest, ok = strings.CutSuffix(rest, gateEnd); !ok || strings.Trim(rest, wordBytes+" ") != "" {
		return ""
	}
	return program
}

// Gate is an agent's gate: what it runs, and where.
type Gate struct {
	Agent   string // claude, codex or gemini
	Program string // absolute path of carrel on this machine
	Always  bool   // it refuses whether carrel serves the agent or not
}

// words are those of the command line.
func (g Gate) words() string {
	words := "agent gate " + g.Agent
	if g.Always {
		words += " --always"
	}
	return words
}

// Line is the command line of a gate.
func (g Gate) Line() (string, error) {
	if strings.Trim(g.Program, wordBytes) != "" {
		return "", fmt.Errorf("%q cannot stand in a hook: a shell reads some of its characters in its own way\nhint: install carrel under a plain path", g.Program)
	}
	return gateLine(g.Program, g.words()), nil
}

// Put gives a settings text with this gate in it, and no other; toml tells the
// format. A nil text is a file that is not there.
func (g Gate) Put(toml bool, text []byte) ([]byte, error) {
	known := agentNamed(g.Agent)
	if known == nil {
		return nil, errors.New("there are no hooks for an agent " + g.Agent)
	}
	line, err := g.Line()
	if err != nil {
		return nil, err
	}
	if have := GatesIn(toml, text); len(have) == 1 && have[0] == line {
		return text, nil
	}
	if text != nil {
		if text, err = TakeGates(toml, text); err != nil {
			return nil, err
		}
	}
	a := *known
	a.gate, a.events = g.Program, []moment{{known.events[0].event, line}}
	return a.install(formatOf(toml), text, anyGate)
}

// TakeGates gives a settings text without any gate.
func TakeGates(toml bool, text []byte) ([]byte, error) {
	return uninstall(formatOf(toml), text, anyGate)
}

// GatesIn are the command lines of the gates in a settings text.
func GatesIn(toml bool, text []byte) []string {
	if text == nil {
		return nil
	}
	doc, err := parse(formatOf(toml), text)
	if err != nil {
		return nil
	}
	var lines []string
	for _, e := range entries(doc.tree(), anyGate) {
		lines = append(lines, e.verb)
	}
	return lines
}

// GateProgram is the program that a gate's command line runs.
func GateProgram(line string) string { return gateProgram(line) }

// PutSteps gives a settings text with an agent's step hooks in it; program is
// carrel's path as commands inside a workspace see it.
func PutSteps(agent string, toml bool, text []byte, program string) ([]byte, error) {
	a := agentNamed(agent)
	if a == nil {
		return nil, errors.New("there are no hooks for an agent " + agent)
	}
	return a.install(formatOf(toml), text, program)
}

// TakeSteps gives a settings text without step hooks.
func TakeSteps(toml bool, text []byte, program string) ([]byte, error) {
	return uninstall(formatOf(toml), text, program)
}

func formatOf(toml bool) int {
	if toml {
		return formatTOML
	}
	return formatJSON
}
