package taskplan

import (
	"slices"
	"strings"
	"unicode"
)

// scene is everything that one plan is made from: what was asked, what is
// there, and what follows from both.
type scene struct {
	request  Request
	snapshot Snapshot
	tools    map[string]Tool
	blockers Blockers
	reading  reading
	target   Workspace // the one that the task is about; without a name there is none yet
	inputs   map[string]any
	refused  map[string]string // inputs that came and cannot be used, with why
	facts    map[string]bool
}

func newScene(r Request, snap Snapshot, tools []Tool, blockers Blockers) *scene {
	s := &scene{request: r, snapshot: snap, tools: byName(tools), blockers: blockers}
	s.inputs, s.refused = r.read()
	if !snap.Permissions.Configured {
		s.blockers = nil // without a ceiling nothing of one can stand against a call
	}
	s.reading = read(r.Intent, s.votes())
	s.choose()
	s.look()
	s.derive()
	return s
}

func byName(tools []Tool) map[string]Tool {
	out := make(map[string]Tool, len(tools))
	for _, t := range tools {
		out[t.Name] = t
	}
	return out
}

// votes are the inputs that speak for a kind by being there.
func (s *scene) votes() []vote {
	var out []vote
	given := func(name string, kind Kind, weight int) {
		if _, ok := s.inputs[name]; ok {
			out = append(out, vote{kind, weight, name})
		}
	}
	given("project_path", KindAppQA, voteProject)
	given("shopping_list", KindShopping, voteShopping)
	given("fulfillment", KindShopping, voteBrowser)
	given("substitution_policy", KindShopping, voteBrowser)
	given("user_data_dir", KindBrowser, voteBrowser)
	given("browser_path", KindBrowser, voteBrowser)
	if address, ok := s.inputs["target_url"].(string); ok && local(address) {
		given("target_url", KindAppQA, voteAddress)
	} else {
		given("target_url", KindBrowser, voteAddress)
	}
	if p, ok := s.snapshot.profile(s.request.ProfileID); ok {
		if k := profileKind(p); k != "" {
			given("profile_id", k, voteAddress)
		}
	}
	return out
}

// choose finds the workspace that the task is about. One that runs is taken
// only when it is the only one that can be meant: a plan that goes on in the
// wrong workspace acts with the wrong logins.
func (s *scene) choose() {
	name, asked := s.inputs["workspace_id"].(string)
	if asked {
		s.target, _ = s.snapshot.workspace(name)
		s.target.Name = name
		return
	}
	running := s.snapshot.running()
	if profile, ok := s.inputs["profile_id"].(string); ok {
		if i := slices.IndexFunc(running, func(w Workspace) bool { return w.Profile == profile }); i >= 0 {
			s.target = running[i]
		}
		return
	}
	switch s.reading.kind {
	case KindObserve, KindUnknown:
		if all := join(running, s.snapshot.Workspaces); len(all) > 0 {
			s.target = all[0]
		}
	case KindCleanup:
		if len(running) == 1 && s.reading.reads("stop") {
			s.target = running[0]
		}
	default:
		s.target = s.fitting(running)
	}
}

// fitting is the one workspace that runs and is there for tasks of this kind.
func (s *scene) fitting(running []Workspace) Workspace {
	if s.inputs["project_path"] != nil || s.inputs["user_data_dir"] != nil {
		return Workspace{}
	}
	var fit []Workspace
	for _, w := range running {
		k := s.snapshot.activity(w).kind
		if k.family() == s.reading.kind.family() || k == KindUnknown && len(running) == 1 {
			fit = append(fit, w)
		}
	}
	if len(fit) != 1 {
		return Workspace{}
	}
	return fit[0]
}

func (r *reading) reads(fact string) bool { return slices.Contains(r.facts, fact) }

// look settles the facts that the conditions of all tables ask for.
func (s *scene) look() {
	snap, target := s.snapshot, s.target
	known := slices.ContainsFunc(snap.Workspaces, func(w Workspace) bool { return w.Name == target.Name })
	stop := target.Running && (s.reading.reads("stop") || s.reading.reads("clean")) || target.Name == "" && s.reading.reads("stop") && len(snap.running()) > 0
	shops := s.reading.kind.shops()
	s.facts = map[string]bool{
		"headless":      snap.Headless,
		"viewer":        snap.viewerState().Available && (s.request.OpenViewer == nil || *s.request.OpenViewer),
		"configured":    snap.Permissions.Configured,
		"active":        allowsMutation(snap.Control.Mode),
		"machine_ready": snap.Doctor.ReadyForWorkspace,
		"named":         target.Name != "",
		"known":         known,          // there is such a workspace, running or not
		"attached":      target.Running, // the plan goes on in it
		"desk":          target.Running, // or has started it by now
		"records":       target.Running || known && s.reading.kind == KindObserve,
		"idle":          target.runningApps() == 0 && !s.starts() && s.reading.kind == KindAppQA,
		"screen":        target.Running && target.Display != "" || !target.Running && snap.Doctor.ReadyForDisplay,
		"app_known":     target.app() != "" && known,
		"waits":         s.reading.kind != KindObserve,
		"shops":         shops,
		"profile":       s.inputs["profile_id"] != nil,
		"project":       s.inputs["project_path"] != nil,
		"data_dir":      s.inputs["user_data_dir"] != nil,
		"address":       s.inputs["target_url"] != nil,
		"stop":          s.reading.kind == KindCleanup && stop,
		"clean":         s.reading.kind == KindCleanup && (s.reading.reads("clean") || !s.reading.reads("stop") && !stop),
		"running_any":   len(snap.running()) > 0,
		"profiles":      len(snap.Profiles) > 0,
	}
	s.facts["changes"] = s.facts["stop"] || s.facts["clean"]
	s.facts["stopped_any"] = len(snap.Workspaces) > len(snap.running())
}

// starts says whether the profile starts programs of its own.
func (s *scene) starts() bool {
	p, _ := s.snapshot.profile(s.request.ProfileID)
	return p.StartsApps && !s.target.Running
}

// derive adds the inputs that follow from the facts. Those that are no
// parameter of the request stand for something that has to be so: see the
// table of inputs.
func (s *scene) derive() {
	set := func(name string, value any, is bool) {
		if is {
			s.inputs[name] = value
		}
	}
	set("workspace_id", s.target.Name, s.target.Name != "")
	set("app", s.target.app(), s.facts["app_known"])
	set("purpose", cut(s.request.Intent, maxName), strings.TrimSpace(s.request.Intent) != "")
	set("machine", true, s.facts["machine_ready"] || s.facts["attached"])
	set("display", true, s.facts["screen"] || s.reading.kind.family() != "browser_task")
	set("free_name", true, s.facts["named"] || !s.snapshot.taken(s.snapshot.defaultName()))
	set("stop_target", true, s.target.Running || !s.facts["stop"])
	set("project_source", true, s.facts["attached"] || s.facts["profile"] || s.facts["project"])
	set("browser_source", true, s.facts["attached"] || s.facts["profile"] || s.facts["data_dir"])
	set("doctor", strings.Join(cutAll(s.snapshot.Doctor.Blockers), "; "), true)
	set("profile_names", s.snapshot.profileNames(), true)
	if profile, ok := s.inputs["profile_id"]; ok {
		s.inputs["profile_name"] = profile
		s.inputs["profile_source"] = true
		return
	}
	s.inputs["profile_name"] = s.freshProfile()
	source := map[string]string{"browser_task": "user_data_dir"}[s.reading.kind.family()]
	if source == "" {
		source = "project_path"
	}
	set("profile_source", true, s.inputs[source] != nil)
}

// taken says whether a workspace of this name runs.
func (s *Snapshot) taken(name string) bool {
	w, _ := s.workspace(name)
	return w.Running
}

func (s *Snapshot) profileNames() string {
	var names []string
	for _, p := range first(s.Profiles, maxShown) {
		names = append(names, cut(p.Name, maxName))
	}
	if names == nil {
		return "none is saved"
	}
	return "saved: " + strings.Join(names, ", ")
}

// freshProfile proposes a name that no saved profile has: after the project,
// or after what it is for.
func (s *scene) freshProfile() string {
	base := "browser"
	if s.reading.kind.family() != "browser_task" {
		path, _ := s.inputs["project_path"].(string)
		if base = slug(path[strings.LastIndexByte(strings.TrimRight(path, "/"), '/')+1:]); base == "" {
			base = "project"
		}
	}
	used := make(map[string]bool)
	for _, p := range s.snapshot.Profiles {
		used[p.Name] = true
	}
	name := base
	for n := 2; used[name]; n++ {
		name = base + "-" + itoa(n)
	}
	return name
}

// slug makes a name of small letters, digits and hyphens.
func slug(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return unicode.ToLower(r)
		}
		return '-'
	}, text)
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == '-' })
	out := strings.Join(fields, "-")
	return strings.Trim(out[:min(len(out), 40)], "-")
}
