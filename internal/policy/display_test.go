package policy

import (
	"strings"
	"testing"
)

func TestDisplay(t *testing.T) {
	gui := func(k LayerKind, on bool) Layer {
		return asks(k, func(r *Request) { r.AllowDesktopGUI = val(on, "gui") })
	}
	vd := func(k LayerKind, on bool) Layer {
		return asks(k, func(r *Request) { r.VirtualDisplay = val(on, "virtual") })
	}
	mode := func(k LayerKind, m DisplayMode) Layer {
		return asks(k, func(r *Request) { r.Display = val(m, "mode") })
	}
	const (
		cli, env, user, proj = LayerCommandLine, LayerEnvironment, LayerUser, LayerProject
		none, virtual, host  = DisplayNone, DisplayVirtual, DisplayHost
	)
	tests := []struct {
		name    string
		persona Persona
		layers  []Layer
		want    DisplayMode
		warned  string
		note    string
	}{
		{"human", Human, nil, host, "", ""},
		{"agent", Agent, nil, none, "", ""},
		{"environment forces an agent's windows out", Agent, []Layer{gui(env, true)}, host, "", ""},
		{"environment forces a human's in", Human, []Layer{gui(env, false)}, none, "", ""},
		{"mode over environment", Agent, []Layer{gui(env, true), mode(cli, none)}, none, "", ""},
		{"mode host over environment", Human, []Layer{gui(env, false), mode(cli, host)}, host, "", ""},
		{"environment over user", Agent, []Layer{gui(user, true), gui(env, false)}, none, "", ""},
		{"environment over the user's mode", Agent, []Layer{mode(user, none), gui(env, true)}, host, "", ""},
		{"virtual for agents", Agent, []Layer{vd(env, true)}, virtual, "", ""},
		{"virtual not for humans", Human, []Layer{vd(env, true)}, host, "", "does not apply to persona human"},
		{"virtual not for humans without a desktop", Human, []Layer{gui(user, false), vd(env, true)}, none, "", "persona human"},
		{"explicit mode virtual for a human", Human, []Layer{mode(cli, virtual)}, virtual, "", ""},
		{"desktop and virtual in one layer: the tighter", Agent, []Layer{asks(user, func(r *Request) {
			r.AllowDesktopGUI, r.VirtualDisplay = val(true, "gui"), val(true, "virtual")
		})}, virtual, "", ""},
		{"desktop stronger than virtual", Agent, []Layer{gui(env, true), vd(user, true)}, host, "", ""},
		{"virtual stronger than desktop", Agent, []Layer{gui(user, true), vd(env, true)}, virtual, "", ""},
		{"weaker virtual turned off", Agent, []Layer{vd(user, true), vd(env, false)}, none, "", ""},

		// The faults of workspace files that outrank people: none of them may
		// return.
		{"project cannot defeat the kiosk", Human, []Layer{gui(env, false), gui(proj, true)}, none, "allow_desktop_gui widens", ""},
		{"project cannot open an agent's desktop", Agent, []Layer{gui(proj, true)}, none, "allow_desktop_gui widens", ""},
		{"nor by mode", Agent, []Layer{mode(proj, host)}, none, "host's display widens", ""},
		{"true is ignored even where it changes nothing", Human, []Layer{gui(proj, true)}, host, "allow_desktop_gui widens", ""},
		{"project takes the desktop away", Human, []Layer{gui(proj, false)}, none, "", "tightened by the project"},
		{"project mode none", Human, []Layer{mode(proj, none)}, none, "", "tightened"},
		{"project turns virtual on", Agent, []Layer{vd(proj, true)}, virtual, "", "turned on by the project"},
		{"project turns virtual on over an allowed desktop", Agent, []Layer{gui(env, true), vd(proj, true)}, virtual, "tightened to virtual", ""},
		{"project virtual after a forced deny", Agent, []Layer{gui(env, false), vd(proj, true)}, virtual, "", ""},
		{"project virtual not for humans", Human, []Layer{vd(proj, true)}, host, "", "persona human"},
		{"project virtual against explicit none", Agent, []Layer{mode(cli, none), vd(proj, true)}, none, "display none was asked for", ""},
		{"project virtual against explicit off", Agent, []Layer{vd(user, false), vd(proj, true)}, none, "display none was asked for", ""},
		{"project turns virtual off", Agent, []Layer{vd(user, true), vd(proj, false)}, none, "", "tightened"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustDecide(t, nil, append(tt.layers, asks(LayerDefault, func(r *Request) { r.Persona = val(tt.persona, "p") }))...)
			if e.Display != tt.want {
				t.Errorf("display %s, want %s", e.Display, tt.want)
			}
			if tt.warned != "" {
				wantWarning(t, e, tt.warned)
			} else if len(e.Warnings) > 0 {
				t.Errorf("warnings %v, want none", e.Warnings)
			}
			if r := reasonOf(e, DimDisplay); !strings.Contains(r.Note, tt.note) {
				t.Errorf("note %q, want %q", r.Note, tt.note)
			}
		})
	}
}

func TestDisplayCeiling(t *testing.T) {
	none := &Ceiling{Display: val(DisplayNone, "c")}
	e := mustDecide(t, none, asks(LayerDefault, func(r *Request) { r.Persona = val(Human, "p") }))
	if e.Display != DisplayNone {
		t.Errorf("human under none: %s", e.Display)
	}
	for name, change := range map[string]func(*Request){
		"gui":     func(r *Request) { r.AllowDesktopGUI = val(true, "g") },
		"virtual": func(r *Request) { r.VirtualDisplay = val(true, "v") },
		"mode":    func(r *Request) { r.Display = val(DisplayVirtual, "m") },
	} {
		if _, err := Decide(testScope(), none, []Layer{asks(LayerEnvironment, change)}); len(Refusals(err)) != 1 {
			t.Errorf("%s under none: error %v, want one refusal", name, err)
		}
	}
	e = mustDecide(t, none, asks(LayerProject, func(r *Request) { r.VirtualDisplay = val(true, "v") }))
	if e.Display != DisplayNone {
		t.Errorf("a project's virtual display under none: %s", e.Display)
	}
	wantWarning(t, e, "the ceiling")
}

func TestWatchVNC(t *testing.T) {
	watch := func(k LayerKind, on bool) Layer {
		return asks(k, func(r *Request) { r.WatchVNC = val(on, "watch") })
	}
	virtual := asks(LayerDefault, func(r *Request) { r.VirtualDisplay = val(true, "v") })
	for _, tt := range []struct {
		name   string
		layers []Layer
		want   bool
		warned bool
	}{
		{"user", []Layer{virtual, watch(LayerUser, true)}, true, false},
		{"nothing to watch", []Layer{watch(LayerUser, true)}, false, false},
		{"project cannot", []Layer{virtual, watch(LayerProject, true)}, false, true},
		{"project forbids", []Layer{virtual, watch(LayerUser, true), watch(LayerProject, false)}, false, false},
		{"operator forbids", []Layer{virtual, watch(LayerOperator, false), watch(LayerCommandLine, true)}, false, false},
	} {
		e := mustDecide(t, nil, tt.layers...)
		if e.WatchVNC != tt.want || (len(e.Warnings) > 0) != tt.warned {
			t.Errorf("%s: watch %v, warnings %v", tt.name, e.WatchVNC, e.Warnings)
		}
	}
}

func TestClipboard(t *testing.T) {
	lend := func(k LayerKind, v ClipboardMode) Layer {
		return asks(k, func(r *Request) { r.Clipboard = val(v, "c") })
	}
	for _, tt := range []struct {
		name    string
		ceiling *Ceiling
		layers  []Layer
		want    ClipboardMode
	}{
		{"nobody", nil, nil, ClipboardOwn},
		{"the user", nil, []Layer{lend(LayerUser, ClipboardPaste)}, ClipboardPaste},
		{"the operator closes it", nil, []Layer{lend(LayerOperator, ClipboardOwn), lend(LayerUser, ClipboardPaste)}, ClipboardOwn},
		{"the project widens", nil, []Layer{lend(LayerProject, ClipboardPaste)}, ClipboardOwn},
		{"the project tightens", nil, []Layer{lend(LayerUser, ClipboardPaste), lend(LayerProject, ClipboardOwn)}, ClipboardOwn},
		{"the ceiling", &Ceiling{Clipboard: val(ClipboardOwn, "c")}, []Layer{lend(LayerDefault, ClipboardPaste)}, ClipboardOwn},
	} {
		if e := mustDecide(t, tt.ceiling, tt.layers...); e.Clipboard != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, e.Clipboard, tt.want)
		}
	}
	if _, err := Decide(testScope(), nil, []Layer{lend(LayerUser, "always")}); err == nil || !strings.Contains(err.Error(), "own or paste") {
		t.Errorf("%v", err)
	}
	if _, err := Decide(testScope(), &Ceiling{Clipboard: val(ClipboardOwn, "c")}, []Layer{lend(LayerCommandLine, ClipboardPaste)}); err == nil {
		t.Error("an explicit request beyond the ceiling is not refused")
	}
}
