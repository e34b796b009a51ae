package a11y

import (
	"fmt"
	"math/bits"
)

// roles are AT-SPI's names of roles by number (enum AtspiRole of at-spi2-core;
// the numbers never change, new ones are appended).
var roles = [...]string{
	"invalid", "accelerator label", "alert", "animation", "arrow", "calendar",
	"canvas", "check box", "check menu item", "color chooser", "column header", "combo box",
	"date editor", "desktop icon", "desktop frame", "dial", "dialog", "directory pane",
	"drawing area", "file chooser", "filler", "focus traversable", "font chooser", "frame",
	"glass pane", "html container", "icon", "image", "internal frame", "label",
	"layered pane", "list", "list item", "menu", "menu bar", "menu item",
	"option pane", "page tab", "page tab list", "panel", "password text", "popup menu",
	"progress bar", "push button", "radio button", "radio menu item", "root pane", "row header",
	"scroll bar", "scroll pane", "separator", "slider", "spin button", "split pane",
	"status bar", "table", "table cell", "table column header", "table row header", "tearoff menu item",
	"terminal", "text", "toggle button", "tool bar", "tool tip", "tree",
	"tree table", "unknown", "viewport", "window", "extended", "header",
	"footer", "paragraph", "ruler", "application", "autocomplete", "editbar",
	"embedded", "entry", "chart", "caption", "document frame", "heading",
	"page", "section", "redundant object", "form", "link", "input method window",
	"table row", "tree item", "document spreadsheet", "document presentation", "document text", "document web",
	"document email", "comment", "list box", "grouping", "image map", "notification",
	"info bar", "level bar", "title bar", "block quote", "audio", "video",
	"definition", "article", "landmark", "log", "marquee", "math",
	"rating", "timer", "static", "math fraction", "math root", "subscript",
	"superscript", "description list", "description term", "description value", "footnote", "content deletion",
	"content insertion", "mark", "suggestion", "push button menu",
}

const roleExtended = 70 // asks the program for a name of its own

func roleName(n uint32) string {
	if int64(n) < int64(len(roles)) {
		return roles[n]
	}
	return fmt.Sprintf("role %d", n)
}

// stateNames are AT-SPI's states by bit (enum AtspiStateType).
var stateNames = [...]string{
	"invalid", "active", "armed", "busy", "checked", "collapsed",
	"defunct", "editable", "enabled", "expandable", "expanded", "focusable",
	"focused", "has tooltip", "horizontal", "iconified", "modal", "multi line",
	"multiselectable", "opaque", "pressed", "resizable", "selectable", "selected",
	"sensitive", "showing", "single line", "stale", "transient", "vertical",
	"visible", "manages descendants", "indeterminate", "required", "truncated", "animated",
	"invalid entry", "supports autocompletion", "selectable text", "default", "visited", "checkable",
	"has popup", "read only",
}

// states is a set of them.
type states uint64

const (
	stateManagesDescendants states = 1 << 31
	stateVisible            states = 1 << 30
	stateShowing            states = 1 << 25
	stateFocusable          states = 1 << 11
	stateEditable           states = 1 << 7
)

// names lists the set in the order of the bits; what has no name is left out.
func (s states) names() []string {
	out := make([]string, 0, bits.OnesCount64(uint64(s)))
	for i, name := range stateNames {
		if s&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}
