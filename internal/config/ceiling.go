package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/policy"
)

// CeilingText is a ceiling's file as it was read once. Whoever holds it decides by it,
// whatever becomes of the file.
type CeilingText struct {
	Source  string `json:"source"` // what messages call it: mostly the file's absolute path
	Content []byte `json:"content"`
}

// ReadCeiling reads a ceiling's file, without understanding it.
func ReadCeiling(file string) (CeilingText, error) {
	data, err := readTrusted(file)
	if absent(err) {
		return CeilingText{}, Problems{problemf("", "", "there is no ceiling file %q", file)}
	}
	if err != nil {
		return CeilingText{}, Problems{readProblem(file, err)}
	}
	return CeilingText{Source: file, Content: data}, nil
}

// NamedCeiling reads the ceiling that Options.Permissions or a variable names; nil where
// none does.
func NamedCeiling(opts Options) (*CeilingText, error) {
	l := &loader{opts: opts, out: &Loaded{}}
	c := l.namedCeiling()
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	return c, nil
}

// CeilingVariables are those of the environment that name a ceiling, or hand one on.
func CeilingVariables() []string { return []string{varPermissions, varPermissionsToo, VarCeilingFD} }

// DecodeCeilings gives the ceiling that texts mean together, nil for none. The error is
// a [Problems].
func DecodeCeilings(list []CeilingText) (*policy.Ceiling, []policy.Warning, error) {
	l := &loader{out: &Loaded{}}
	l.hold(list)
	if len(l.problems) > 0 {
		return nil, nil, l.problems
	}
	return l.out.Ceiling, l.out.Warnings, nil
}

// ceiling takes the ceilings that were read before, or reads the one that is named.
// Whoever names a ceiling gets it or no start at all.
func (l *loader) ceiling() {
	if l.opts.Ceilings != nil {
		l.hold(l.opts.Ceilings)
		return
	}
	if c := l.namedCeiling(); c != nil {
		l.hold([]CeilingText{*c})
	}
}

// hold decodes ceilings that hold together.
func (l *loader) hold(list []CeilingText) {
	for _, c := range list {
		l.outside(c.Source, "the ceiling")
		r := l.decode(c.Source, KindCeiling, c.Content, nil)
		switch {
		case r == nil || r.ceiling == nil:
		case l.out.Ceiling == nil:
			l.out.Ceiling = r.ceiling
		default:
			l.out.Ceiling.Also = append(l.out.Ceiling.Also, r.ceiling)
		}
	}
}

// namedCeiling reads the file of --permissions or of the variables.
func (l *loader) namedCeiling() *CeilingText {
	file, by := l.opts.Permissions, "--permissions"
	if file == "" {
		if file, by = l.ceilingVariable(); file == "" {
			return nil
		}
	}
	if !filepath.IsAbs(file) {
		if !filepath.IsAbs(l.opts.Cwd) {
			l.wrong(by, "%q is relative and the working directory is not known", file)
			return nil
		}
		file = filepath.Join(l.opts.Cwd, file)
	}
	c, err := ReadCeiling(file)
	if err == nil {
		return &c
	}
	problems := ProblemsOf(err)
	if problems[0].File == "" {
		l.out.Files = append(l.out.Files, FileStatus{Kind: KindCeiling, Path: file})
		problems[0].Key = by
	}
	l.problems = append(l.problems, problems...)
	return nil
}

// ceilingVariable gives the file that the variables name, "" for none. Both names mean
// the same, and an empty value is none.
func (l *loader) ceilingVariable() (file, by string) {
	for _, entry := range l.opts.Environ {
		name, v, _ := strings.Cut(entry, "=")
		if name != varPermissions && name != varPermissionsToo || v == "" {
			continue
		}
		if file != "" && v != file {
			l.wrong(name, "it names the ceiling %q, and %s names %q: unset one of them", v, by, file)
			return "", ""
		}
		if file == "" {
			l.keep(name, v)
		}
		file, by = v, name
	}
	return file, by
}

// finishCeiling takes apart what hosts of this machine mean where the network is local:
// ports of its loopback that may be reached.
func (d *decoder) finishCeiling(c *policy.Ceiling) {
	local := c.Network != nil && c.Network.V == policy.NetLocal
	c.AllowHosts = slices.DeleteFunc(c.AllowHosts, func(v policy.Value[string]) bool {
		port, mine, err := loopbackPort(v.V)
		switch {
		case !mine:
			return false
		case !local:
			err = policy.CheckHostRule(v.V, true)
		case err == nil:
			c.HostPorts = append(c.HostPorts, policy.Value[uint16]{V: port, Source: v.Source})
			return true
		}
		if err != nil {
			d.problems = append(d.problems, Problem{File: d.file, Line: v.Source.Line, Column: v.Source.Column, Key: v.Source.Text, Message: err.Error()})
		}
		return false
	})
}

// loopbackPort reads an entry that means this machine: localhost:3000, 127.0.0.1:3000,
// [::1]:3000, with or without a scheme. mine says whether it does.
func loopbackPort(text string) (port uint16, mine bool, err error) {
	rest := strings.ToLower(strings.Trim(text, " \t"))
	if scheme, after, ok := strings.Cut(rest, "://"); ok && slices.Contains([]string{"http", "https", "ws", "wss", "tcp"}, scheme) {
		rest = strings.TrimSuffix(after, "/")
	}
	host, tail := rest, ""
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") && strings.Count(rest, "::") <= strings.Count(rest, "[") {
		host, tail = rest[:i], rest[i+1:]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, bad := netip.ParseAddr(host)
	if host != "localhost" && (bad != nil || !addr.Unmap().IsLoopback()) {
		return 0, false, nil
	}
	if tail == "" {
		return 0, true, fmt.Errorf("%s names no port: under local_only an entry is a port of this machine, like localhost:3000", quoted(text))
	}
	port, err = ParsePort(tail)
	return port, true, err
}

// authorityFields are the keys of a ceiling that no layer asks for.
func authorityFields() []field {
	return []field{
		{key: "host_commands", typ: typeList,
			doc:  "The only commands of the host that may be brokered to the inside, by name.",
			open: emptyIsOpen, check: badHostCommand,
			put: func(t *target, v value) {
				t.ceiling.HostCommands = append(t.ceiling.HostCommands, *textValue[string](v))
			}},
		{key: "undo", typ: typeEnum, enum: []string{"all", "preview", "none"},
			doc: "What may be done with the history: all, preview (look, and see what an undo would do) or none.",
			put: func(t *target, v value) { t.ceiling.Undo = textValue[policy.UndoMode](v) }},
		{key: "credentials", typ: typeEnum, enum: []string{"on", "off"},
			doc: "off: nothing of your credentials is used for programs inside, whatever the configuration lists.",
			put: func(t *target, v value) { t.ceiling.Credentials = textValue[policy.CredentialsMode](v) }},
		{key: "expires", typ: typeTime,
			doc:   "A time as in RFC 3339, 2030-01-31T18:00:00Z: from then on nothing is started, and what runs is paused.",
			check: badTime,
			put: func(t *target, v value) {
				at, _ := time.Parse(time.RFC3339, v.text)
				t.ceiling.Expires = &policy.Value[time.Time]{V: at, Source: v.source}
			}},
	}
}

func badHostCommand(v value) string {
	if !policy.IsHostCommand(v.text) {
		return quoted(v.text) + " is not the name of a command: letters, digits, '.', '_' and '-', at most 64, the first a letter or a digit"
	}
	return ""
}

// strictTime is what time.Parse is not strict about: 1:00, a comma, a zone of 24 hours.
var strictTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)
})

func badTime(v value) string {
	if _, err := time.Parse(time.RFC3339, v.text); err != nil || !strictTime().MatchString(v.text) {
		return quoted(v.text) + " is not a time: want one as in RFC 3339, like 2030-01-31T18:00:00Z or 2030-01-31T18:00:00+01:00"
	}
	return ""
}

// ceilingHost is badHost for a ceiling, where a port of this machine means something too;
// see finishCeiling.
func ceilingHost(v value) string {
	if _, mine, _ := loopbackPort(v.text); mine {
		return ""
	}
	return badHost(true)(v)
}
