package taskplan

import (
	"slices"
	"time"
)

// Snapshot is what the server knows when it is asked.
type Snapshot struct {
	Headless    bool // the server opens no window of the host
	Viewer      Viewer
	Permissions Permissions
	Control     Control
	Doctor      Doctor
	Profiles    []Profile
	Workspaces  []Workspace
	Default     string   // the workspace of a call that names none; "" is "default"
	Problems    []string // what could not be read, in words
}

// Viewer is whether a window of the host can show a workspace.
type Viewer struct {
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"` // why not
}

// Permissions is the ceiling, as every surface tells it.
type Permissions struct {
	Configured bool        `json:"configured"`
	Restricted bool        `json:"restricted"`
	Source     string      `json:"source,omitempty"`
	Hash       string      `json:"hash,omitempty"`
	Dimensions []Dimension `json:"dimensions"`
	Advisories []string    `json:"advisories"`
}

// Dimension is one of the ceiling's, in words.
type Dimension struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Control is who may do what at this moment.
type Control struct {
	Mode      string    `json:"mode"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	UpdatedBy string    `json:"updated_by,omitempty"`
	Reason    string    `json:"reason,omitempty"`
}

// Doctor is what this machine can hold.
type Doctor struct {
	ReadyForWorkspace bool     `json:"ready_for_workspace"`
	ReadyForDisplay   bool     `json:"ready_for_display"`
	Blockers          []string `json:"blockers"`
}

// Profile is a saved workspace. Kind is that of the template it was made from,
// where that is known.
type Profile struct {
	Name        string
	Kind        string
	Description string
	StartsApps  bool // it has programs that a start starts
}

// Kinds of profiles that plans ask for.
const (
	ProfileProject    = "project-dev"
	ProfileBrowser    = "browser-session"
	ProfileRestricted = "restricted-browser"
)

// Workspace is one that runs, or that has left something.
type Workspace struct {
	Name      string
	Running   bool
	Purpose   string
	Profile   string
	Display   string // "" is none
	Apps      []App
	LastEvent uint64
}

// App is one command in a workspace.
type App struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Running bool   `json:"running"`
}

func (s Snapshot) workspace(name string) (Workspace, bool) {
	i := slices.IndexFunc(s.Workspaces, func(w Workspace) bool { return w.Name == name })
	if i < 0 || name == "" {
		return Workspace{}, false
	}
	return s.Workspaces[i], true
}

func (s Snapshot) profile(name string) (Profile, bool) {
	i := slices.IndexFunc(s.Profiles, func(p Profile) bool { return p.Name == name })
	if i < 0 || name == "" {
		return Profile{}, false
	}
	return s.Profiles[i], true
}

func (s Snapshot) running() []Workspace {
	var found []Workspace
	for _, w := range s.Workspaces {
		if w.Running {
			found = append(found, w)
		}
	}
	return found
}

// defaultName is the workspace of a call that names none.
func (s Snapshot) defaultName() string {
	if s.Default == "" {
		return "default"
	}
	return s.Default
}

// viewerState is whether a viewer can be opened, and why not.
func (s Snapshot) viewerState() Viewer {
	switch {
	case s.Headless:
		return Viewer{Reason: "the server runs headless"}
	case s.Viewer.Available:
		return Viewer{Available: true}
	case s.Viewer.Reason == "":
		return Viewer{Reason: "no display of the host is there"}
	}
	return Viewer{Reason: cut(s.Viewer.Reason, maxLine)}
}

// app is the one whose log tells most: the newest that runs, else the newest.
func (w Workspace) app() string {
	for _, a := range slices.Backward(w.Apps) {
		if a.Running {
			return a.ID
		}
	}
	if n := len(w.Apps); n > 0 {
		return w.Apps[n-1].ID
	}
	return ""
}

func (w Workspace) runningApps() int {
	n := 0
	for _, a := range w.Apps {
		if a.Running {
			n++
		}
	}
	return n
}
