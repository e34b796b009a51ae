package display

import (
	"path"
	"slices"
	"strings"

	"carrel/internal/policy"
)

// Options fills in what is particular to one workspace. All paths are those
// inside.
type Options struct {
	RuntimeDir string // private runtime directory; "" leaves XDG_RUNTIME_DIR unset (in mode host: as it is)
	Shim       string // program for $BROWSER; "" sets it to "false", so that opening fails visibly
	Display    string // mode virtual: ":N"; without it virtual is none
	XAuthority string // mode virtual: cookie file, "" for none
	Bus        string // mode virtual: address of the workspace's own session bus, "" for none
}

// Apply returns the environment for a display mode, as a new slice. It is the
// only builder of display variables.
//
// Variables that are not in the table stay byte for byte and in their order,
// also when they are repeated or malformed. Every occurrence of a variable that
// is removed or set goes; what is set is appended in the table's order. Apply
// twice is Apply once. An unknown mode counts as none.
func Apply(env []string, mode policy.DisplayMode, o Options) []string {
	if mode == policy.DisplayHost {
		return applyHost(env, o)
	}
	if mode != policy.DisplayVirtual || o.Display == "" {
		mode = policy.DisplayNone
	}
	table := Table()
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		i := slices.IndexFunc(table, func(v Variable) bool { return v.Name == name })
		return i >= 0 && (table[i].Class != Editor || mode == policy.DisplayNone && opensWindow(value))
	})
	for _, v := range table {
		if value := o.fill(v.value(mode)); value != "" {
			out = append(out, v.Name+"="+value)
		}
	}
	return out
}

// value is a variable's value in a mode that is not host.
func (v Variable) value(mode policy.DisplayMode) string {
	if mode == policy.DisplayVirtual {
		return v.Virtual
	}
	return v.None
}

// fill replaces a placeholder.
func (o Options) fill(value string) string {
	switch value {
	case phRuntime:
		return o.RuntimeDir
	case phShim:
		if o.Shim == "" {
			return "false"
		}
		return o.Shim
	case phDisplay:
		return o.Display
	case phXAuthority:
		return o.XAuthority
	case phBus:
		if o.Bus == "" {
			return noBus
		}
		return o.Bus
	case phBridge:
		if o.Bus == "" {
			return "1"
		}
		return ""
	case phAccessible:
		if o.Bus == "" {
			return ""
		}
		return "1"
	}
	return value
}

// applyHost leaves everything but the runtime directory, which is private also
// here (the granted sockets are bound into it), and descriptors.
func applyHost(env []string, o Options) []string {
	descriptors := map[string]bool{}
	for _, v := range Table() {
		if v.Class == Descriptor {
			descriptors[v.Name] = true
		}
	}
	var out []string
	placed := o.RuntimeDir == ""
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case descriptors[name]:
		case name != "XDG_RUNTIME_DIR" || o.RuntimeDir == "":
			out = append(out, entry)
		case !placed:
			out = append(out, "XDG_RUNTIME_DIR="+o.RuntimeDir)
			placed = true
		}
	}
	if !placed {
		out = append(out, "XDG_RUNTIME_DIR="+o.RuntimeDir)
	}
	return out
}

// opensWindow reports whether an editor command opens a window.
func opensWindow(command string) bool {
	words := strings.Fields(command)
	if len(words) == 0 {
		return false
	}
	args := words[1:]
	switch path.Base(strings.Trim(words[0], `"'`)) {
	case "code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "zed", "zeditor",
		"subl", "sublime_text", "atom", "pulsar", "lapce", "fleet",
		"gedit", "gnome-text-editor", "xed", "pluma", "kate", "kwrite", "mousepad", "leafpad", "geany", "featherpad",
		"gvim", "gview", "gvimdiff", "mvim", "nvim-qt", "neovide", "nvim-gtk", "xemacs",
		"idea", "webstorm", "pycharm", "goland", "clion", "phpstorm", "rubymine", "rider", "rustrover", "studio",
		"notepadqq", "nedit", "bbedit", "mate", "textmate", "jedit", "xterm", "flatpak", "open", "xdg-open":
		return true
	case "vim", "vi":
		return slices.Contains(args, "-g")
	case "emacsclient":
		// Without -t it asks the Emacs that runs outside.
		return !slices.ContainsFunc(args, func(arg string) bool {
			return arg == "-t" || arg == "-nw" || arg == "--tty"
		})
	}
	return false
}
