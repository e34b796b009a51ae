package policy

import "testing"

// TestSwitches: off from anybody counts, on only where nobody stronger says off.
func TestSwitches(t *testing.T) {
	ask := func(k LayerKind, s Switch) Layer {
		return asks(k, func(r *Request) { r.Sound, r.Notify = val(s, "s"), val(s, "n") })
	}
	for _, tt := range []struct {
		name    string
		ceiling *Ceiling
		layers  []Layer
		want    Switch
	}{
		{"nobody", nil, nil, SwitchOn},
		{"the user", nil, []Layer{ask(LayerUser, SwitchOff)}, SwitchOff},
		{"the user takes no word back of the operator", nil, []Layer{ask(LayerOperator, SwitchOff), ask(LayerUser, SwitchOn)}, SwitchOff},
		{"a profile is quiet", nil, []Layer{ask(LayerUser, SwitchOn), ask(LayerProfile, SwitchOff)}, SwitchOff},
		{"a profile does not widen", nil, []Layer{ask(LayerUser, SwitchOff), ask(LayerProfile, SwitchOn)}, SwitchOff},
		{"the project is quiet", nil, []Layer{ask(LayerUser, SwitchOn), ask(LayerProject, SwitchOff)}, SwitchOff},
		{"the project does not widen", nil, []Layer{ask(LayerUser, SwitchOff), ask(LayerProject, SwitchOn)}, SwitchOff},
		{"the ceiling", &Ceiling{Sound: val(SwitchOff, "c"), Notify: val(SwitchOff, "c")}, nil, SwitchOff},
	} {
		e := mustDecide(t, tt.ceiling, tt.layers...)
		if e.Sound != tt.want || e.Notify != tt.want {
			t.Errorf("%s: %s, %s, want %s", tt.name, e.Sound, e.Notify, tt.want)
		}
	}
	if _, err := Decide(testScope(), &Ceiling{Sound: val(SwitchOff, "c")}, []Layer{ask(LayerUser, SwitchOn)}); len(Refusals(err)) != 1 {
		t.Errorf("more than the ceiling: %v", err)
	}
	if _, err := Decide(testScope(), nil, []Layer{ask(LayerUser, "loud")}); err == nil {
		t.Error("an unknown word was taken")
	}
}

func TestLinkModes(t *testing.T) {
	ask := func(k LayerKind, m LinkMode) Layer { return asks(k, func(r *Request) { r.OpenURLs = val(m, "l") }) }
	if e := mustDecide(t, nil); e.OpenURLs != LinksShow {
		t.Errorf("nobody: %s", e.OpenURLs)
	}
	if e := mustDecide(t, nil, ask(LayerOperator, LinksShow), ask(LayerUser, LinksBrowser)); e.OpenURLs != LinksShow {
		t.Errorf("beyond the operator: %s", e.OpenURLs)
	}
	none := &Ceiling{OpenURLs: val(LinksNone, "c")}
	if e := mustDecide(t, none); e.OpenURLs != LinksNone {
		t.Errorf("a ceiling: %s", e.OpenURLs)
	}
	if _, err := Decide(testScope(), none, []Layer{ask(LayerUser, LinksShow)}); len(Refusals(err)) != 1 {
		t.Errorf("more than the ceiling: %v", err)
	}
	d := DiffCeilings(none, &Ceiling{OpenURLs: val(LinksBrowser, "c"), Sound: val(SwitchOff, "c")})
	if len(d) != 2 || d[0].Dimension != DimSound || d[1].Dimension != DimLinks || len(d[1].More) != 1 {
		t.Errorf("%+v", d)
	}
}
