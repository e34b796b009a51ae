package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/hooks"
	"carrel/internal/settings"
)

// Report tells what of us is in one client's settings of one scope.
type Report struct {
	Request
	Registered string   // "yes", "no", "other" (somebody else's), "stale" (the program is gone)
	Blocked    string   // "no", "always", "while-serving", "partly"
	Steps      bool     // the step hooks
	Skill      bool     // the skill
	Serving    int      // servers that serve the client now, of any scope
	Files      []string // that hold something of ours
	Notes      []string
	Err        error // why something cannot be read

	recorded bool // we have put something in, or begun to
}

// Ours says whether something of ours is there, or may be in what cannot be read.
func (r *Report) Ours() bool {
	return r.recorded || r.Registered == "yes" || r.Registered == "stale" || r.Blocked != "no" || r.Steps || r.Skill || len(r.Files) > 0
}

// Status looks at clients and changes nothing: the user's settings, those of the
// project, and of setups that the record knows.
func (h Host) Status(names []string) ([]Report, error) {
	rec, err := h.look()
	if err != nil {
		return nil, err
	}
	live, _, err := h.leases()
	if err != nil {
		return nil, err
	}
	var out []Report
	for _, name := range names {
		c, err := named(name)
		if err != nil {
			return nil, err
		}
		for _, r := range h.known(rec, name) {
			report := h.report(c, r, rec)
			for _, l := range live {
				if l.Client == name {
					report.Serving++
				}
			}
			out = append(out, report)
		}
	}
	return out, nil
}

// look reads the record without waiting for anybody: it is replaced as a whole.
func (h Host) look() (*record, error) {
	dir, err := os.Open(h.State)
	if errors.Is(err, os.ErrNotExist) {
		return &record{}, nil
	} else if err != nil {
		return nil, err
	}
	s := &store{dir: dir}
	defer s.close()
	return s.read()
}

// known are the places of a client to look at.
func (h Host) known(rec *record, name string) []Request {
	var out []Request
	add := func(r Request) {
		if !slices.ContainsFunc(out, func(o Request) bool { return o.same(&r) }) {
			out = append(out, r)
		}
	}
	for _, s := range rec.Setups {
		if s.Client == name {
			add(s.Request)
		}
	}
	for _, r := range []Request{{Client: name, Scope: User, Name: DefaultName}, {Client: name, Scope: Project, Project: h.Project, Name: DefaultName}} {
		if !slices.ContainsFunc(out, func(o Request) bool { return o.Scope == r.Scope && o.Project == r.Project }) && (r.Scope == User || h.Project != "") {
			add(r)
		}
	}
	return out
}

// DefaultName is the name of our server in the clients' settings.
const DefaultName = "carrel"

// placesOf are the files of a request, as they were used where it is known.
func (h Host) placesOf(c *client, r Request, rec *record) places {
	h.Project = r.Project
	s := rec.find(&r)
	if s == nil {
		return c.places(h, r.Scope)
	}
	p := c.places(h.as(c, s.Env), r.Scope)
	p.keep(s)
	return p
}

func (h Host) report(c *client, r Request, rec *record) Report {
	p := h.placesOf(c, r, rec)
	out := Report{Request: r, Registered: "no", Blocked: "no"}
	fail := func(path string, err error) {
		if err != nil && out.Err == nil {
			var problem *settings.Problem
			if errors.As(err, &problem) {
				problem.File = path
			} else {
				err = fmt.Errorf("%s: %w", path, err)
			}
			out.Err = err
		}
	}
	text := func(path string) []byte {
		if path == "" {
			return nil
		}
		f, err := settings.Open(path)
		if errors.Is(err, settings.ErrNoDir) {
			return nil
		} else if err != nil {
			fail(path, err)
			return nil
		}
		defer f.Close()
		return f.Text
	}
	has := func(path string) {
		if !slices.Contains(out.Files, path) {
			out.Files = append(out.Files, path)
		}
	}
	e, err := p.find(text(p.servers), r.Name)
	fail(p.servers, err)
	switch {
	case !e.there:
	case !e.ours(c, h.Program, programOf(rec, &r)):
		out.Registered = "other"
	case !exists(e.words[0]):
		out.Registered = "stale"
		out.Notes = append(out.Notes, fmt.Sprintf("%s is gone: carrel agent heal registers this carrel", e.words[0]))
		has(p.servers)
	default:
		out.Registered = "yes"
		if len(e.words) > 5 && !exists(e.words[5]) {
			out.Notes = append(out.Notes, e.words[5]+" is gone: the server cannot start without its ceiling")
		}
		has(p.servers)
		if e.words[0] != h.Program {
			out.Notes = append(out.Notes, "registered is "+e.words[0]+", this is "+h.Program)
		}
	}
	s := rec.find(&r)
	out.recorded = s != nil
	if s != nil && len(s.Deny) > 0 {
		if have, err := denied(text(p.settings)); err == nil {
			out.Blocked = "always"
			for _, tool := range s.Deny {
				if !slices.Contains(have, tool) {
					out.Blocked = "partly"
				}
			}
			has(p.settings)
		}
	}
	if p.blocker != "" && string(text(p.blocker)) == noEnvironment {
		out.Blocked = "always"
		has(p.blocker)
	}
	toml := filepath.Ext(p.hooks) == ".toml"
	settingsText := text(p.hooks)
	for _, line := range append(hooks.GatesIn(toml, settingsText), pluginGate(text(p.plugin))...) {
		if out.Blocked = "while-serving"; strings.Contains(line, "--always") {
			out.Blocked = "always"
		}
		if program := hooks.GateProgram(line); program != "" && !exists(program) {
			out.Blocked = "no"
			out.Notes = append(out.Notes, "its gate runs "+program+", which is gone: carrel agent heal")
		}
		if p.hooks != "" {
			has(p.hooks)
		}
	}
	if p.hooks != "" && settingsText != nil {
		with, err := hooks.PutSteps(c.name, toml, settingsText, h.Inside)
		fail(p.hooks, err)
		out.Steps = err == nil && string(with) == string(settingsText)
	}
	if c.name == "claude" {
		out.unheeded(p.settings, text(p.settings))
	}
	if p.plugin != "" && text(p.plugin) != nil {
		out.Steps = true
		has(p.plugin)
	}
	if text(p.skill) != nil {
		out.Skill = true
		has(p.skill)
	}
	if rec.Pending != nil && slices.ContainsFunc(rec.Pending.Setups, func(s setup) bool { return s.same(&r) }) {
		out.recorded = true
		out.Notes = append(out.Notes, fmt.Sprintf("a %s was interrupted: carrel agent heal finishes it", rec.Pending.Op))
	}
	return out
}

// unheeded tells where Claude Code takes no notice of what is written for it.
func (r *Report) unheeded(path string, text []byte) {
	why := unheeded(text, r.Blocked != "always")
	if why == "" {
		return
	}
	if r.Notes = append(r.Notes, path+": "+why); r.Blocked != "no" {
		r.Blocked = "no"
		r.Notes = append(r.Notes, "so nothing is blocked")
	}
}

// programOf is what the record says was registered, "" for nothing.
func programOf(rec *record, r *Request) string {
	if s := rec.find(r); s != nil {
		return s.Program
	}
	return ""
}

// pluginGate gives the gate of a plugin in the words of a hook.
func pluginGate(text []byte) []string {
	if !strings.Contains(string(text), "const gateWords = ") {
		return nil
	}
	if strings.Contains(string(text), "\"--always\"]") {
		return []string{"--always"}
	}
	return []string{"plugin"}
}

// Heal finishes what was interrupted, removes leases of servers that are gone, and
// puts every setup of the record in again, as this program would: entries of an
// earlier install become this one's. Entries of ours that the record does not know
// and whose program is gone are taken out. It tells what it did.
func (h Host) Heal() ([]string, error) {
	var did []string
	n, err := h.sweepLeases()
	if err != nil {
		return nil, err
	}
	if n > 0 {
		did = append(did, fmt.Sprintf("removed %d leases of servers that are gone", n))
	}
	store, err := h.openStore(false)
	if err != nil || store == nil {
		return did, errors.Join(err, h.healUnknown(&record{}, nil, &did))
	}
	defer store.close()
	rec, err := store.read()
	if err != nil {
		return did, err
	}
	if rec.Pending != nil {
		done, kept, err := h.finish(store, rec)
		if did = slices.Concat(did, kept, done); err != nil {
			return did, err
		}
	}
	var failed error
	for _, s := range slices.Clone(rec.Setups) {
		if s.Scope == Project && !exists(s.Project) {
			rec.Setups = slices.DeleteFunc(rec.Setups, func(o setup) bool { return o.same(&s.Request) })
			did = append(did, fmt.Sprintf("%s (%s): forgotten, %s is gone", s.Client, s.Scope, s.Project))
			failed = errors.Join(failed, store.write(rec))
			continue
		}
		results, err := h.do(store, rec, Setup, []Request{s.Request}, false)
		failed = errors.Join(failed, err)
		for _, r := range results {
			for _, f := range r.Files {
				did = append(did, fmt.Sprintf("%s (%s): set up again in %s", s.Client, s.Scope, f.Path))
			}
		}
	}
	return did, errors.Join(failed, h.healUnknown(rec, store, &did))
}

// healUnknown takes out what has the shape of ours, runs a program that is gone,
// and is not in the record.
func (h Host) healUnknown(rec *record, held *store, did *[]string) error {
	var failed error
	for _, c := range table {
		for _, r := range h.known(rec, c.name) {
			report := h.report(&c, r, rec)
			if rec.find(&r) != nil || report.Registered != "stale" {
				continue
			}
			store := held
			if store == nil {
				var err error
				if store, err = h.openStore(true); err != nil {
					return err
				}
				defer store.close()
				held = store
			}
			if _, err := h.do(store, rec, Remove, []Request{r}, false); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			*did = append(*did, fmt.Sprintf("%s (%s): removed an entry whose program is gone", c.name, r.Scope))
		}
	}
	return failed
}
