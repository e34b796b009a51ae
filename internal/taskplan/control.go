package taskplan

import (
	"time"

	"carrel/internal/api"
)

// ControlState is live control as answers tell it.
type ControlState struct {
	Mode                string    `json:"mode"`
	AllowsAgentMutation bool      `json:"allows_agent_mutation"`
	Message             string    `json:"message"`
	UpdatedAt           time.Time `json:"updated_at,omitzero"`
	UpdatedBy           string    `json:"updated_by,omitempty"`
	Reason              string    `json:"reason,omitempty"`
}

func (s Snapshot) controlState() ControlState {
	c := s.Control
	mode := cut(c.Mode, maxName)
	if mode == "" {
		mode = api.ControlActive
	}
	message, ok := controlMessages[mode]
	if !ok {
		message = "This mode is not known; nothing may be changed in it."
	}
	return ControlState{
		Mode: mode, AllowsAgentMutation: allowsMutation(c.Mode), Message: message,
		UpdatedAt: c.UpdatedAt, UpdatedBy: cut(c.UpdatedBy, maxName), Reason: cut(c.Reason, maxLine),
	}
}

var controlMessages = map[string]string{
	api.ControlActive:   "Everything that the policy allows may be done.",
	api.ControlReadOnly: "Looking is allowed, changing is not; what runs goes on.",
	api.ControlTakeover: "A person acts in the workspace; look, and leave it alone.",
	api.ControlPaused:   "The workspace stands still; look, and wait for the user.",
}

// bounded is the ceiling as answers tell it.
func (p Permissions) bounded() Permissions {
	out := Permissions{
		Configured: p.Configured, Restricted: p.Restricted, Source: cut(p.Source, maxLine), Hash: cut(p.Hash, maxName),
		Dimensions: []Dimension{}, Advisories: cutAll(p.Advisories),
	}
	for _, d := range first(p.Dimensions, maxList) {
		out.Dimensions = append(out.Dimensions, Dimension{cut(d.Name, maxName), cut(d.Value, maxLine)})
	}
	return out
}
