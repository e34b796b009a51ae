package devcontainer

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/jsontree"
)

// commands takes one command, or several by name: text for a shell, or a list of arguments.
func (r *reader) commands(m jsontree.Member) error {
	var list []Command
	add := func(name string, n *jsontree.Node) error {
		c := Command{When: m.Name, Name: name}
		switch n.Kind {
		case jsontree.String:
			c.Argv = []string{"/bin/sh", "-c", n.Text}
		case jsontree.List:
			for _, item := range n.Items {
				if item.Kind != jsontree.String {
					return wrong(m, item, "text")
				}
				c.Argv = append(c.Argv, item.Text)
			}
		default:
			return wrong(m, n, "text or a list")
		}
		size := 0
		for i, arg := range c.Argv {
			if arg, ok := r.expand(arg); ok {
				c.Argv[i] = arg
			}
			size += len(c.Argv[i])
		}
		switch {
		case len(c.Argv) == 0 || c.Argv[0] == "" || c.Argv[len(c.Argv)-1] == "" && n.Kind == jsontree.String:
			return nil
		case size > maxCommand || strings.Contains(strings.Join(c.Argv, ""), "\x00"):
			return fmt.Errorf("%d:%d: %s: the command is longer than %d bytes, or no text", n.Line, n.Column, m.Name, maxCommand)
		}
		list = append(list, c)
		return nil
	}
	switch n := m.Value; n.Kind {
	case jsontree.Null:
		return nil
	case jsontree.Object:
		for _, one := range n.Members {
			if err := add(one.Name, one.Value); err != nil {
				return err
			}
		}
	default:
		if err := add("", n); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	if !r.o.Run {
		r.ignore(m, "`container.devcontainer: run` in your configuration has lifecycle commands run, inside")
		return nil
	}
	r.c.Lifecycle = append(r.c.Lifecycle, list...)
	if len(r.c.Lifecycle) > maxCommands {
		return fmt.Errorf("%d:%d: %s: more than %d lifecycle commands", m.Line, m.Column, m.Name, maxCommands)
	}
	return nil
}

// enter runs lifecycle commands and then the command. Those of a start are run each time, the
// others until they have succeeded once.
//
//go:embed enter.sh
var enter string

// Enter gives the arguments of a command that runs the lifecycle commands before argv. It runs
// inside, as argv does.
func (c *Config) Enter(argv []string) []string {
	if len(c.Lifecycle) == 0 || len(argv) == 0 {
		return argv
	}
	ordered, sum := slices.Clone(c.Lifecycle), sha256.New()
	slices.SortStableFunc(ordered, func(x, y Command) int { return slices.Index(lifecycle, x.When) - slices.Index(lifecycle, y.When) })
	var words []string
	for _, one := range ordered {
		often := "once"
		if one.When == "postStartCommand" || one.When == "postAttachCommand" {
			often = "always"
		}
		label := one.When
		if one.Name != "" {
			label += " " + one.Name
		}
		words = append(words, often, label, strconv.Itoa(len(one.Argv)))
		words = append(words, one.Argv...)
	}
	for _, w := range words {
		fmt.Fprintf(sum, "%d:%s", len(w), w)
	}
	return slices.Concat([]string{"/bin/sh", "-c", enter, "carrel-devcontainer", hex.EncodeToString(sum.Sum(nil))}, words, []string{"run"},
		argv)
}
