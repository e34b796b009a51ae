package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"carrel/internal/jsontree"
	"carrel/internal/pathname"
	"carrel/sandbox/policyfile"
)

// Codex reads a policy of Codex: the legacy form (an object with "type", as
// --sandbox-policy takes it), the split form (an object with "kind" and
// "entries", alone or beside a "network"), a permission profile, or the
// configuration in TOML with sandbox_mode or [permissions].
func Codex(data []byte, o Options) (*Imported, error) {
	im := newImporter(o)
	im.apex = true
	c := &codex{importer: im}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		root, err := tomlTree(data)
		if err != nil {
			return nil, err
		}
		c.configuration(root)
	} else {
		root, err := jsontree.Parse(data)
		if err != nil {
			return nil, err
		}
		c.json(root)
	}
	c.emit()
	return im.done()
}

// codex gathers entries before they are written: which names are protected
// depends on all of them.
type codex struct {
	*importer
	entries []codexEntry
	globs   []policyfile.Rule
	full    bool // everything may be changed
}

type codexEntry struct {
	place   string // "/" for the root
	access  policyfile.Access
	minimal bool // one of the system's own directories, which resolve nothing there
}

// codexProtected are the names at the top of what may be written that stay
// read-only unless a rule speaks of them.
var codexProtected = []string{".git", ".agents", ".codex"}

// codexMinimal is what Codex takes for the system's own directories.
var codexMinimal = []string{"/bin", "/sbin", "/usr", "/etc", "/lib", "/lib64", "/nix/store", "/run/current-system/sw"}

func (c *codex) json(n *jsontree.Node) {
	switch typ := n.Get("type"); {
	case n.Get("kind") != nil && typ != nil:
		c.lose(typ, "type", "\"kind\" is there, too: which of the two holds?")
	case n.Get("kind") != nil:
		c.fileSystem(n, "")
	case n.Get("file_system") != nil && n.Get("filesystem") != nil:
		c.lose(n, "filesystem", "\"file_system\" is there, too: which of the two holds?")
	case typ == nil:
		c.object(n, "", member{"file_system", c.fileSystem}, member{"filesystem", c.fileSystem}, member{"network", c.network})
	case typ.Text == "managed":
		c.object(n, "", ignored("type"), member{"file_system", c.fileSystem}, member{"network", c.network})
	case typ.Text == "disabled":
		c.object(n, "", ignored("type"))
		c.everything()
		c.out.Network.Mode = policyfile.Open
	case typ.Text == "external":
		c.everything()
		c.object(n, "", ignored("type"), member{"network", c.network})
	default:
		c.legacy(n, typ)
	}
}

func (c *codex) everything() {
	c.full = true
	c.entries = append(c.entries, codexEntry{place: "/", access: policyfile.Write})
}

// legacy reads the four modes of old.
func (c *codex) legacy(n, typ *jsontree.Node) {
	switch typ.Text {
	case "danger-full-access":
		c.object(n, "", ignored("type"))
		c.everything()
		c.out.Network.Mode = policyfile.Open
	case "external-sandbox":
		c.everything()
		c.object(n, "", ignored("type"), member{"network_access", c.network})
	case "read-only":
		reads := c.readEverything
		c.object(n, "", ignored("type"), c.flag("network_access", c.networkOn),
			member{"access", func(n *jsontree.Node, key string) { reads = c.readAccess(n, key) }})
		reads()
	case "workspace-write":
		w := &codexWorkspace{slashTmp: true, tmpDir: true}
		reads := c.readEverything
		c.object(n, "", append(c.workspace(w), ignored("type"),
			member{"read_only_access", func(n *jsontree.Node, key string) { reads = c.readAccess(n, key) }})...)
		reads()
		c.workspaceRoots(w)
	default:
		c.lose(typ, "type", "%q is not known: there are read-only, workspace-write, danger-full-access and external-sandbox", typ.Text)
	}
}

func (c *codex) readEverything() {
	c.entries = append(c.entries, codexEntry{place: "/", access: policyfile.Read})
}

// readAccess reads what a mode of old lets be read.
func (c *codex) readAccess(n *jsontree.Node, key string) func() {
	nothing := func() {}
	switch typ := n.Get("type"); {
	case typ == nil:
		c.lose(n, key, "want an object with \"type\"")
		return nothing
	case typ.Text == "full-access" || typ.Text == "full_access":
		return c.readEverything
	case typ.Text != "restricted":
		c.lose(typ, key+".type", "%q is not known: there are full-access and restricted", typ.Text)
		return nothing
	}
	platform := true
	var roots []string
	c.object(n, key, ignored("type"),
		member{"include_platform_defaults", func(n *jsontree.Node, key string) {
			platform = n.Kind == jsontree.Bool && n.True
		}},
		c.list("readable_roots", func(n *jsontree.Node, key, text string) {
			if place, ok := c.absolute(n, key, text, false); ok {
				roots = append(roots, place)
			}
		}))
	return func() {
		for _, r := range roots {
			c.entries = append(c.entries, codexEntry{place: r, access: policyfile.Read})
		}
		if platform {
			c.minimal()
		}
	}
}

// codexWorkspace is what workspace-write says.
type codexWorkspace struct {
	roots            []string
	slashTmp, tmpDir bool
}

func (c *codex) workspace(w *codexWorkspace) []member {
	return []member{
		c.list("writable_roots", func(n *jsontree.Node, key, text string) {
			if place, ok := c.absolute(n, key, text, false); ok {
				w.roots = append(w.roots, place)
			}
		}),
		c.flag("network_access", c.networkOn),
		c.flag("exclude_tmpdir_env_var", func(*jsontree.Node, string) { w.tmpDir = false }),
		c.flag("exclude_slash_tmp", func(*jsontree.Node, string) { w.slashTmp = false }),
	}
}

func (c *codex) workspaceRoots(w *codexWorkspace) {
	roots := append([]string{c.o.Cwd}, w.roots...)
	if w.slashTmp {
		roots = append(roots, "/tmp")
	}
	if w.tmpDir && path.IsAbs(c.o.TmpDir) {
		roots = append(roots, path.Clean(c.o.TmpDir))
	}
	for _, r := range roots {
		c.entries = append(c.entries, codexEntry{place: r, access: policyfile.Write})
	}
}

func (c *codex) minimal() {
	for _, dir := range codexMinimal {
		c.entries = append(c.entries, codexEntry{dir, policyfile.Read, true})
	}
}

func (c *codex) networkOn(*jsontree.Node, string) { c.out.Network.Mode = policyfile.Open }

func (c *codex) network(n *jsontree.Node, key string) {
	switch {
	case n.Kind == jsontree.String && n.Text == "enabled":
		c.out.Network.Mode = policyfile.Open
	case n.Kind == jsontree.String && n.Text == "restricted":
	default:
		c.left(n, key, "want \"restricted\" or \"enabled\"; there is no network then")
	}
}

// fileSystem reads the split policy.
func (c *codex) fileSystem(n *jsontree.Node, key string) {
	kind := n.Get("kind")
	if kind == nil {
		kind = n.Get("type") // of a permission profile
	}
	if kind == nil {
		kind = &jsontree.Node{Text: "restricted"}
	}
	switch kind.Text {
	case "unrestricted", "external-sandbox":
		c.everything()
	case "restricted":
	default:
		c.lose(kind, "kind", "%q is not known: there are restricted, unrestricted and external-sandbox", kind.Text)
	}
	entries := "entries"
	if key != "" {
		entries = key + ".entries"
	}
	c.object(n, key, ignored("kind"), ignored("type"),
		ignored("glob_scan_max_depth"), // patterns hold at any depth here
		member{"entries", func(n *jsontree.Node, _ string) {
			if n.Kind != jsontree.List {
				c.lose(n, entries, "want a list, got %s", n.Kind)
				return
			}
			for i, e := range n.Items {
				c.entry(e, fmt.Sprintf("%s[%d]", entries, i))
			}
		}})
}

// entry reads one rule. Whether something is a restriction hangs on its access.
func (c *codex) entry(n *jsontree.Node, key string) {
	access, ok := codexAccess(n.Get("access"))
	if !ok {
		c.lose(n, key+".access", "want read, write or deny")
		return
	}
	var at *jsontree.Node
	c.object(n, key, ignored("access"), ignored("missing_path_behavior"), member{"path", func(n *jsontree.Node, _ string) { at = n }})
	if at == nil || at.Get("type") == nil {
		c.miss(n, key+".path", access, "want an object with \"type\"")
		return
	}
	key += ".path"
	switch typ := at.Get("type"); typ.Text {
	case "path":
		if text := at.Get("path"); text != nil && text.Kind == jsontree.String {
			if place, ok := c.absolute(text, key, text.Text, access != policyfile.Write); ok {
				c.entries = append(c.entries, codexEntry{place: place, access: access})
			}
			c.object(at, key, ignored("type"), ignored("path"))
			return
		}
		c.miss(at, key, access, "want a \"path\"")
	case "glob_pattern":
		c.object(at, key, ignored("type"), ignored("pattern"), ignored("path"))
		text := at.Get("pattern")
		if text == nil {
			text = at.Get("path")
		}
		c.pattern(at, text, key, access)
	case "special":
		value := at
		if v := at.Get("value"); v != nil {
			c.object(at, key, ignored("type"), ignored("value"))
			value = v
		}
		c.special(value, key, access)
	default:
		c.miss(typ, key+".type", access, "%q is not known: there are path, glob_pattern and special", typ.Text)
	}
}

func codexAccess(n *jsontree.Node) (policyfile.Access, bool) {
	if n == nil || n.Kind != jsontree.String {
		return "", false
	}
	switch n.Text {
	case "read":
		return policyfile.Read, true
	case "write":
		return policyfile.Write, true
	case "deny", "none":
		return policyfile.Deny, true
	}
	return "", false
}

// miss tells of a rule that is not understood. A rule for reading may narrow
// one for writing around it, so only one for writing is a grant for certain.
func (c *codex) miss(n *jsontree.Node, key string, a policyfile.Access, format string, args ...any) {
	if a == policyfile.Write {
		c.left(n, key, format, args...)
		return
	}
	c.lose(n, key, format, args...)
}

func (c *codex) pattern(at, text *jsontree.Node, key string, a policyfile.Access) {
	if a != policyfile.Deny {
		c.miss(at, key, a, "a pattern can only deny")
		return
	}
	if text == nil || text.Kind != jsontree.String || text.Text == "" {
		c.lose(at, key, "want a \"pattern\"")
		return
	}
	globs, err := c.importer.globs(text.Text)
	if err != nil {
		c.lose(text, key, "%q: %v", text.Text, err)
		return
	}
	for _, glob := range globs {
		c.globs = append(c.globs, policyfile.Rule{Glob: glob, Access: policyfile.Deny})
	}
}

// absolute reads a path that has to be one; "~" is taken, too.
func (c *codex) absolute(n *jsontree.Node, key, text string, restricts bool) (string, bool) {
	place, err := c.place(text)
	if err == nil && !path.IsAbs(text) && !strings.HasPrefix(text, "~") {
		err = errors.New("it is not absolute")
	}
	if err == nil {
		return place, true
	}
	if restricts {
		c.lose(n, key, "%q: %v", text, err)
	} else {
		c.left(n, key, "%q: %v", text, err)
	}
	return "", false
}

// special reads a place that is named by what it is.
func (c *codex) special(n *jsontree.Node, key string, a policyfile.Access) {
	kind := n.Get("kind")
	if kind == nil {
		c.miss(n, key, a, "want an object with \"kind\"")
		return
	}
	var places []string
	switch kind.Text {
	case "root":
		places = []string{"/"}
	case "minimal":
		if a != policyfile.Read {
			c.miss(kind, key, a, "the system's own directories can only be read")
			return
		}
		c.minimal()
	case "project_roots", "current_working_directory":
		place, err := c.below(n.Get("subpath"))
		if err != nil {
			c.miss(n, key, a, "%v", err)
			return
		}
		places = []string{place}
	case "tmpdir":
		if !path.IsAbs(c.o.TmpDir) {
			return // as Codex has it: no such directory
		}
		places = []string{path.Clean(c.o.TmpDir)}
	case "slash_tmp":
		places = []string{"/tmp"}
	default:
		c.miss(kind, key, a, "%q is not known", kind.Text)
		return
	}
	for _, p := range places {
		c.entries = append(c.entries, codexEntry{place: p, access: a})
	}
	extra := []member{ignored("type"), ignored("kind")}
	if kind.Text == "project_roots" || kind.Text == "current_working_directory" {
		extra = append(extra, ignored("subpath"))
	}
	c.object(n, key, extra...)
}

// below is a place in the working directory.
func (c *codex) below(sub *jsontree.Node) (string, error) {
	if sub == nil || sub.Kind == jsontree.Null {
		return c.o.Cwd, nil
	}
	if sub.Kind != jsontree.String || sub.Text == "" || path.IsAbs(sub.Text) || strings.HasPrefix(sub.Text, "~") {
		return "", errors.New("subpath: want a path below the working directory")
	}
	place, err := c.place(sub.Text)
	if err == nil && !pathname.Within(place, c.o.Cwd) {
		err = fmt.Errorf("subpath: %q leaves the working directory", sub.Text)
	}
	return place, err
}
