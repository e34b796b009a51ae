package policyfile

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/config"
	"carrel/internal/jsontree"
	"carrel/internal/policy"
)

// maxProblems bounds how many mistakes are listed.
const maxProblems = 20

// Problem is one mistake in a policy.
type Problem struct {
	File         string
	Line, Column int    // 0 for a policy that was made in Go
	Key          string // "files[2].access"; "" for the text as a whole
	Message      string
}

// Error says where the mistake is and what would be right.
func (p *Problem) Error() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	for _, part := range []string{p.Key, p.Message} {
		if where != "" && part != "" {
			where += ": "
		}
		where += part
	}
	return where
}

// Problems is everything that is wrong with a policy, one a line.
type Problems []*Problem

// Error joins the messages.
func (p Problems) Error() string {
	lines := make([]string, 0, len(p))
	for i, one := range p {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(p)-i))
			break
		}
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// Parse reads a policy. name stands for it in messages, which are [Problems].
func Parse(data []byte, name string) (*Policy, error) {
	root, err := jsontree.Parse(data)
	if err != nil {
		p := &Problem{File: name, Message: err.Error()}
		var at *jsontree.Error
		if errors.As(err, &at) {
			p.Line, p.Column, p.Message = at.Line, at.Column, at.Message
		}
		return nil, Problems{p}
	}
	d := &decoder{file: name, policy: &Policy{}, at: make(map[string]*jsontree.Node)}
	d.root(root)
	if len(d.problems) == 0 {
		for _, p := range d.policy.check() {
			if n := d.nearest(p.Key); n != nil {
				p.Line, p.Column = n.Line, n.Column
			}
			p.File = name
			d.problems = append(d.problems, p)
		}
	}
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	return d.policy, nil
}

// decoder fills a policy from a tree.
type decoder struct {
	file     string
	policy   *Policy
	problems Problems
	at       map[string]*jsontree.Node // places of what was read, by key
}

func (d *decoder) fail(n *jsontree.Node, key, format string, args ...any) {
	d.problems = append(d.problems, &Problem{File: d.file, Line: n.Line, Column: n.Column, Key: key, Message: fmt.Sprintf(format, args...)})
}

// nearest is the value of a key, or of what holds it.
func (d *decoder) nearest(key string) *jsontree.Node {
	for {
		if n := d.at[key]; n != nil || key == "" {
			return n
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
}

// field is one key of an object and what reads its value.
type field struct {
	name string
	read func(n *jsontree.Node, key string)
}

// object reads the fields that there are, and refuses all others.
func (d *decoder) object(n *jsontree.Node, key string, fields ...field) {
	d.at[key] = n
	if !d.want(n, key, jsontree.Object) {
		return
	}
	for _, m := range n.Members {
		full := m.Name
		if key != "" {
			full = key + "." + m.Name
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.Name })
		if i < 0 {
			names := make([]string, len(fields))
			for j, f := range fields {
				names[j] = f.name
			}
			d.fail(&jsontree.Node{Line: m.Line, Column: m.Column}, strconv.Quote(full), "there is no such key: there are %s", strings.Join(names, ", "))
			continue
		}
		d.at[full] = m.Value
		fields[i].read(m.Value, full)
	}
}

func (d *decoder) want(n *jsontree.Node, key string, kind jsontree.Kind) bool {
	if n.Kind != kind {
		d.fail(n, key, "want %s, got %s", kind, n.Kind)
	}
	return n.Kind == kind
}

func (d *decoder) root(n *jsontree.Node) {
	p := d.policy
	if n.Kind == jsontree.Object {
		d.version(n)
	}
	if len(d.problems) > 0 {
		return // another version has other keys
	}
	d.object(n, "",
		field{"version", func(*jsontree.Node, string) {}},
		field{"cwd", func(n *jsontree.Node, key string) { p.Cwd = d.bytes(n, key) }},
		field{"files", d.files},
		field{"environment", d.environment},
		field{"network", d.network},
		field{"unix_sockets", func(n *jsontree.Node, key string) { p.UnixSockets = d.list(n, key) }},
		field{"programs", func(n *jsontree.Node, key string) { p.Programs = d.list(n, key) }},
		field{"devices", func(n *jsontree.Node, key string) { p.Devices = d.list(n, key) }},
		field{"nested", func(n *jsontree.Node, key string) { p.Nested = Nesting(d.text(n, key)) }},
		field{"limits", d.limits},
		field{"history", d.history},
	)
}

func (d *decoder) version(n *jsontree.Node) {
	v := n.Get("version")
	switch {
	case v == nil:
		d.fail(n, "version", "it is missing: want \"version\": %d", Version)
	case v.Kind != jsontree.Number || v.Text != strconv.Itoa(Version):
		d.fail(v, "version", "want %d, the one version that there is", Version)
	}
}

func (d *decoder) files(n *jsontree.Node, key string) {
	for i, item := range d.items(n, key) {
		r := Rule{}
		d.object(item, fmt.Sprintf("%s[%d]", key, i),
			field{"path", func(n *jsontree.Node, key string) { r.Path = d.bytes(n, key) }},
			field{"glob", func(n *jsontree.Node, key string) { r.Glob = d.bytes(n, key) }},
			field{"access", func(n *jsontree.Node, key string) { r.Access = Access(d.text(n, key)) }},
			field{"if_missing", func(n *jsontree.Node, key string) { r.Missing = Missing(d.text(n, key)) }},
		)
		d.policy.Files = append(d.policy.Files, r)
	}
}

func (d *decoder) environment(n *jsontree.Node, key string) {
	e := &d.policy.Environment
	d.object(n, key,
		field{"pass", func(n *jsontree.Node, key string) { e.Pass = d.list(n, key) }},
		field{"set", func(n *jsontree.Node, key string) {
			if !d.want(n, key, jsontree.Object) {
				return
			}
			e.Set = make(map[string]string)
			for _, m := range n.Members {
				e.Set[m.Name] = d.bytes(m.Value, key+"."+m.Name)
			}
		}},
	)
}

func (d *decoder) network(n *jsontree.Node, key string) {
	net := &d.policy.Network
	d.object(n, key,
		field{"mode", func(n *jsontree.Node, key string) { net.Mode = NetworkMode(d.text(n, key)) }},
		field{"allow_hosts", func(n *jsontree.Node, key string) { net.AllowHosts = d.list(n, key) }},
		field{"deny_hosts", func(n *jsontree.Node, key string) { net.DenyHosts = d.list(n, key) }},
		field{"host_ports", func(n *jsontree.Node, key string) {
			for i, item := range d.items(n, key) {
				port, err := config.ParsePort(d.number(item, fmt.Sprintf("%s[%d]", key, i)))
				if err != nil && item.Kind == jsontree.Number {
					d.fail(item, fmt.Sprintf("%s[%d]", key, i), "%v", err)
				}
				net.HostPorts = append(net.HostPorts, port)
			}
		}},
		field{"publish", func(n *jsontree.Node, key string) {
			for i, text := range d.list(n, key) {
				p, err := config.ParsePublish(text)
				if err != nil {
					d.fail(n.Items[i], fmt.Sprintf("%s[%d]", key, i), "%v", err)
				}
				net.Publish = append(net.Publish, Publish(p))
			}
		}},
	)
}

func (d *decoder) limits(n *jsontree.Node, key string) {
	l := &d.policy.Limits
	d.object(n, key,
		field{"memory", func(n *jsontree.Node, key string) {
			var err error
			if l.Memory, err = config.ParseSize(d.text(n, key)); err != nil && n.Kind == jsontree.String {
				d.fail(n, key, "%v", err)
			}
		}},
		field{"pids", func(n *jsontree.Node, key string) {
			var err error
			if l.Pids, err = config.ParseCount(d.number(n, key)); err != nil && n.Kind == jsontree.Number {
				d.fail(n, key, "%v", err)
			}
		}},
		field{"timeout", func(n *jsontree.Node, key string) {
			var err error
			if l.Timeout, err = config.ParseDuration(d.text(n, key)); err != nil && n.Kind == jsontree.String {
				d.fail(n, key, "%v", err)
			}
		}},
	)
}

func (d *decoder) history(n *jsontree.Node, key string) {
	switch text := d.text(n, key); {
	case text == string(policy.HistoryOn):
		d.policy.History = true
	case text != string(policy.HistoryOff) && n.Kind == jsontree.String:
		d.fail(n, key, "%q is not known: want on or off", text)
	}
}

// items are those of a list.
func (d *decoder) items(n *jsontree.Node, key string) []*jsontree.Node {
	if !d.want(n, key, jsontree.List) {
		return nil
	}
	return n.Items
}

// list reads a list of strings; never nil, so that an empty one is one.
func (d *decoder) list(n *jsontree.Node, key string) []string {
	out := []string{}
	for i, item := range d.items(n, key) {
		full := fmt.Sprintf("%s[%d]", key, i)
		d.at[full] = item
		out = append(out, d.bytes(item, full))
	}
	return out
}

func (d *decoder) text(n *jsontree.Node, key string) string {
	if !d.want(n, key, jsontree.String) {
		return ""
	}
	return n.Text
}

func (d *decoder) number(n *jsontree.Node, key string) string {
	if !d.want(n, key, jsontree.Number) {
		return ""
	}
	return n.Text
}

// bytes reads a string of any bytes: a JSON string, or {"base64": "..."}.
func (d *decoder) bytes(n *jsontree.Node, key string) string {
	if n.Kind != jsontree.Object {
		return d.text(n, key)
	}
	text := ""
	d.object(n, key, field{"base64", func(n *jsontree.Node, key string) {
		raw, err := base64.StdEncoding.Strict().DecodeString(d.text(n, key))
		if err != nil {
			d.fail(n, key, "%v", err)
		}
		text = string(raw)
	}})
	d.at[key] = n
	if n.Get("base64") == nil {
		d.fail(n, key, "want a string, or an object {\"base64\": \"...\"} for bytes that are not UTF-8")
	}
	return text
}
