package taskplan

import (
	"slices"

	"carrel/internal/api"
)

// ActionCatalog is the answer of mcp_action_catalog: what each tool does, for
// hosts and agents that ask before they call. It classifies; it allows and
// forbids nothing.
type ActionCatalog struct {
	Version int         `json:"version"`
	Notes   []string    `json:"notes"`
	Tools   []ToolEntry `json:"tools"`
}

// ToolEntry is one tool, with the parameters that change what it does.
type ToolEntry struct {
	Name            string          `json:"name"`
	Category        string          `json:"category"`
	ReadOnly        bool            `json:"read_only"`
	Mutating        bool            `json:"mutating"`
	Destructive     bool            `json:"destructive"`
	Idempotent      bool            `json:"idempotent"`
	OpenWorld       bool            `json:"open_world"`
	ControlBehavior string          `json:"control_behavior"`
	ParameterNotes  []ParameterNote `json:"parameter_notes"`
}

// ParameterNote says how one parameter changes a call.
type ParameterNote struct {
	Parameter    string `json:"parameter"`
	When         string `json:"when"`
	Effect       string `json:"effect"`
	LiveControl  string `json:"live_control"`
	ApprovalHint string `json:"approval_hint"`
}

// Catalog tells of these tools, in their order.
func Catalog(tools []Tool) ActionCatalog {
	out := ActionCatalog{Version: Version, Notes: slices.Clone(catalogNotes), Tools: []ToolEntry{}}
	for _, t := range first(tools, maxTools) {
		out.Tools = append(out.Tools, ToolEntry{
			Name: t.Name, Category: t.Category, ReadOnly: t.ReadOnly, Mutating: t.Mutating, Destructive: t.Destructive,
			Idempotent: t.Idempotent, OpenWorld: t.OpenWorld, ControlBehavior: t.Control, ParameterNotes: notesOf(t),
		})
	}
	return out
}

// notesOf are the rows of the table for the parameters that this tool has. What
// a note says of live control is what [ControlBlocks] holds: a table that said
// it once more could be wrong.
func notesOf(t Tool) []ParameterNote {
	out := []ParameterNote{}
	for _, row := range parameterNotes {
		if _, ok := t.param(row.Parameter); !ok {
			continue
		}
		note := row.ParameterNote
		note.LiveControl = "Allowed in every mode."
		if ControlBlocks(api.ControlReadOnly, t, map[string]any{row.Parameter: row.value}) {
			note.LiveControl = "Blocked while control is not active."
		}
		out = append(out, note)
	}
	return out
}

// parameterNote is a row: the note, and the value that it is about.
type parameterNote struct {
	ParameterNote
	value any
}

func paramNote(name string, value any, when, effect, hint string) parameterNote {
	return parameterNote{ParameterNote{Parameter: name, When: when, Effect: effect, ApprovalHint: hint}, value}
}

var parameterNotes = []parameterNote{
	paramNote("dry_run", true, "dry_run is true", "Nothing is changed, started, written or ended; the answer says what would be.",
		"None needed. Show the answer before the real call."),
	paramNote("replace", true, "replace is true", "What has this name already is replaced, and not kept.",
		"Ask first: the one before is gone."),
	paramNote("output_path", "/", "output_path is set", "A file of the host is written; without it the answer carries the text.",
		"Name the file to the user; it is outside every workspace."),
	paramNote("kill_on_timeout", true, "kill_on_timeout is true", "The program is ended when the time is over, with what it has started.",
		"Ask where the program may hold work that is not saved."),
	paramNote("confirmed_user_request", true, "confirmed_user_request is true", "Control may become active again; it says that the user has asked for it.",
		"Only after the user has asked for it in words; never on an agent's own account."),
	paramNote(ackHidden, true, ackHidden+" is true", "A workspace is started that the user does not see; it says that the user has agreed.",
		"Ask once for each workspace; what happens inside needs no further prompt."),
}

var catalogNotes = []string{
	"The catalog classifies. What may be done is decided by the ceiling, the workspace's policy and live control.",
	"Hints are those of the worst that a tool can do; parameter_notes say which arguments make a call more or less.",
	"Without a ceiling the server asks for no approvals of its own; those are the host's and its user's.",
	"destructive: something is ended or removed and does not come back.",
	"open_world: it reaches beyond the workspace, to a network or to the user's desktop.",
	"idempotent: to call it twice does no more than once.",
	"control_behavior says what live control does to a tool while its mode is not active. It is a convenience and no wall.",
}
