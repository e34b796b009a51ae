package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"carrel/internal/policy"
)

const (
	maxFile  = 1 << 20 // bytes of one file
	maxDepth = 32      // nesting; the schema needs six
)

// parse reads the one document of a file. The result is nil where the file
// holds no document. Nothing is constructed: the nodes are looked at one by
// one, so that every mistake has its place.
func parse(data []byte, file string) (*yaml.Node, Problems) {
	if len(data) > maxFile {
		return nil, Problems{problemf(file, "", "the file is larger than 1 MiB")}
	}
	if p := badText(data, file); p != nil {
		return nil, Problems{*p}
	}
	loader, err := yaml.NewLoader(strings.NewReader(string(data)),
		yaml.WithV4Defaults(), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, Problems{yamlProblem(file, err)}
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); err != nil {
		if doc.Kind == 0 && blank(data) {
			return nil, nil
		}
		return nil, Problems{yamlProblem(file, err)}
	}
	if err := loader.Load(&second); err == nil {
		return nil, Problems{{File: file, Line: second.Line, Column: second.Column, Message: "a second document begins here: one file holds one document"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, Problems{yamlProblem(file, err)}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, Problems{problemf(file, "", "the file holds no document")}
	}
	return &doc, nil
}

// badText finds what YAML would misread or a terminal would obey.
func badText(data []byte, file string) *Problem {
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		at := Problem{File: file, Line: line, Column: column}
		switch {
		case r == utf8.RuneError && n <= 1:
			at.Message = fmt.Sprintf("byte %#02x is not UTF-8: write a path that is not UTF-8 as !!binary and base64", data[i])
			return &at
		case r < 0x20 && r != '\n' && r != '\r' && r != '\t', r >= 0x7f && r < 0xa0 && r != 0x85:
			at.Message = fmt.Sprintf("control character %#02x: write it as an escape in double quotes", r)
			return &at
		case r == '\n':
			line, column = line+1, 0
		}
		column++
		i += n
	}
	return nil
}

// blank tells whether the file has nothing but comments and space.
func blank(data []byte) bool {
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// yamlProblem keeps the parser's place and words.
func yamlProblem(file string, err error) Problem {
	p := Problem{File: file, Message: err.Error()}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		p.Line, p.Column, p.Message = one.Mark.Line, one.Mark.Column, one.Message
		if one.ContextMsg != "" {
			p.Message = one.ContextMsg + ": " + one.Message
		}
	}
	p.Message = "not YAML: " + strings.TrimPrefix(p.Message, "yaml: ")
	return p
}

// decoder walks one file.
type decoder struct {
	file     string
	kind     Kind
	problems Problems
	warnings []policy.Warning
	values   []Setting
}

func (d *decoder) fail(n *yaml.Node, key, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		File: d.file, Line: n.Line, Column: n.Column, Key: key, Message: fmt.Sprintf(format, args...),
	})
}

func (d *decoder) source(n *yaml.Node, key string) policy.Source {
	return policy.Source{Layer: d.kind.layer(), File: d.file, Line: n.Line, Column: n.Column, Text: key}
}

// plain refuses what this format does without: whoever reads a file sees all
// of it, once, where it stands.
func (d *decoder) plain(n *yaml.Node, key string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		d.fail(n, key, "an alias (%q) is not possible here: write the value itself", "*"+n.Value)
	case n.Anchor != "":
		d.fail(n, key, "an anchor (%q) is not possible here", "&"+n.Anchor)
	case n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != "!!binary":
		d.fail(n, key, "the tag %q is not possible here", n.Tag)
	default:
		return true
	}
	return false
}

// text reads a string. A number or a date that was not quoted is a mistake:
// what YAML makes of it is not what was written.
func (d *decoder) text(n *yaml.Node, key string) (string, bool) {
	if !d.plain(n, key) {
		return "", false
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fail(n, key, "want text, got %s", describeNode(n))
	case n.ShortTag() == "!!binary":
		return d.binary(n, key)
	case n.ShortTag() == "!!null" && n.Value == "~":
		d.fail(n, key, `~ alone is null in YAML: write "~" in quotes`)
	case n.ShortTag() != "!!str" && n.ShortTag() != "!!merge":
		d.fail(n, key, `want text, got %s: write it in quotes`, describeNode(n))
	case strings.IndexByte(n.Value, 0) >= 0:
		d.fail(n, key, "the text holds a NUL byte")
	default:
		return n.Value, true
	}
	return "", false
}

// binary reads base64: the way to write bytes that are not UTF-8.
func (d *decoder) binary(n *yaml.Node, key string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	switch {
	case err != nil:
		d.fail(n, key, "!!binary is not base64: %v", err)
	case strings.IndexByte(string(raw), 0) >= 0:
		d.fail(n, key, "the text holds a NUL byte")
	default:
		return string(raw), true
	}
	return "", false
}

// describeNode names what was found.
func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the boolean " + n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!timestamp":
		return "the date " + n.Value
	}
	return fmt.Sprintf("%q", n.Value)
}
