package taskplan

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// Request is what mcp_task_plan is asked. Only the intent has to be there.
type Request struct {
	Intent                  string `json:"intent"`
	WorkspaceID             string `json:"workspace_id,omitempty"`
	ProfileID               string `json:"profile_id,omitempty"`
	ProjectPath             string `json:"project_path,omitempty"`
	BrowserPath             string `json:"browser_path,omitempty"`
	UserDataDir             string `json:"user_data_dir,omitempty"`
	TargetURL               string `json:"target_url,omitempty"`
	ShoppingList            string `json:"shopping_list,omitempty"`
	Budget                  string `json:"budget,omitempty"`
	Fulfillment             string `json:"fulfillment,omitempty"`
	SubstitutionPolicy      string `json:"substitution_policy,omitempty"`
	CartMutationApproved    bool   `json:"cart_mutation_approved,omitempty"`
	FinalCartReviewed       bool   `json:"final_cart_reviewed,omitempty"`
	RealWorldActionApproved bool   `json:"real_world_action_approved,omitempty"`
	OpenViewer              *bool  `json:"open_viewer,omitempty"` // nil: where it can be
}

// Provided is one input that the request brought.
type Provided struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Missing is one input that the task still needs.
type Missing struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// field is one text of a request, and what it has to be to go into a call.
type field struct {
	name  string
	value string
	check func(string) string // why it is none; "" is all right
}

func (r Request) fields() []field {
	return []field{
		{"workspace_id", r.WorkspaceID, checkName},
		{"profile_id", r.ProfileID, checkName},
		{"project_path", r.ProjectPath, checkPath},
		{"browser_path", r.BrowserPath, checkPath},
		{"user_data_dir", r.UserDataDir, checkPath},
		{"target_url", r.TargetURL, checkURL},
		{"shopping_list", r.ShoppingList, nil},
		{"budget", r.Budget, nil},
		{"fulfillment", r.Fulfillment, nil},
		{"substitution_policy", r.SubstitutionPolicy, nil},
	}
}

// approvals are the request's, by name.
func (r Request) approvals() map[string]bool {
	return map[string]bool{
		"cart_mutation_approved":     r.CartMutationApproved,
		"final_cart_reviewed":        r.FinalCartReviewed,
		"real_world_action_approved": r.RealWorldActionApproved,
	}
}

// read gives the inputs that can be used, and for each other why it cannot. A
// value that is no path or address is not cut or mended: the call would reach
// something else.
func (r Request) read() (inputs map[string]any, refused map[string]string) {
	inputs, refused = make(map[string]any), make(map[string]string)
	for _, f := range r.fields() {
		value := strings.TrimSpace(f.value)
		if value == "" {
			continue
		}
		if f.check == nil {
			inputs[f.name] = cut(value, maxLine)
			continue
		}
		if why := f.check(value); why != "" {
			refused[f.name] = why
			continue
		}
		inputs[f.name] = value
	}
	return inputs, refused
}

// provided lists what was given, in the order of the request's fields.
func (r Request) provided(inputs map[string]any) []Provided {
	out := []Provided{}
	for _, f := range r.fields() {
		if v, ok := inputs[f.name]; ok && strings.TrimSpace(f.value) != "" {
			out = append(out, Provided{f.name, v})
		}
	}
	for _, name := range []string{"cart_mutation_approved", "final_cart_reviewed", "real_world_action_approved"} {
		if r.approvals()[name] {
			out = append(out, Provided{name, true})
		}
	}
	if r.OpenViewer != nil {
		out = append(out, Provided{"open_viewer", *r.OpenViewer})
	}
	return out
}

func checkName(s string) string {
	if len(s) > maxName || hasControl(s) || strings.Contains(s, "/") {
		return "that is no name"
	}
	return ""
}

func checkPath(s string) string {
	switch {
	case len(s) > maxPath || hasControl(s):
		return "that is no path"
	case !strings.HasPrefix(s, "/"):
		return "the path has to be absolute"
	}
	return ""
}

func checkURL(s string) string {
	if len(s) > maxPath || hasControl(s) {
		return "that is no web address"
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "that is no web address: it has to begin with http:// or https://"
	}
	return ""
}

// local says whether an address is on this machine.
func local(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	at, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && at.IsLoopback()
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, unicode.IsControl)
}
