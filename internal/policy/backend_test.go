package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func asked(kind LayerKind, b Backend) Layer {
	return Layer{Kind: kind, Name: "test", Request: Request{Backend: &Value[Backend]{V: b, Source: Source{Text: "--backend"}}}}
}

var openScope = Scope{Cwd: "/home/u/p", Project: "/home/u/p", Home: "/home/u", Tmp: "/tmp", System: []string{"/usr"}}

func TestBackend(t *testing.T) {
	narrow := &Ceiling{Source: Source{Layer: LayerCeiling, File: "/c.yaml"}, Nested: &Value[Nesting]{V: NestedUserns}}
	tests := map[string]struct {
		layers  []Layer
		ceiling *Ceiling
		want    Backend
		warned  string
		refused string
	}{
		"nobody asks":              {nil, nil, BackendProcess, "", ""},
		"the command line":         {[]Layer{asked(LayerCommandLine, BackendNone)}, nil, BackendNone, "", ""},
		"the user's file":          {[]Layer{asked(LayerUser, BackendNone)}, nil, BackendNone, "", ""},
		"a flag over the file":     {[]Layer{asked(LayerUser, BackendNone), asked(LayerCommandLine, BackendProcess)}, nil, BackendProcess, "", ""},
		"the project":              {[]Layer{asked(LayerProject, BackendNone)}, nil, BackendProcess, "ignored", ""},
		"the operator says walls":  {[]Layer{asked(LayerOperator, BackendProcess), asked(LayerCommandLine, BackendNone)}, nil, BackendProcess, "the operator sets process", ""},
		"under a ceiling":          {[]Layer{asked(LayerCommandLine, BackendNone)}, narrow, "", "", "the ceiling /c.yaml allows process"},
		"a file under a ceiling":   {[]Layer{asked(LayerUser, BackendNone)}, narrow, "", "", "the ceiling /c.yaml allows process"},
		"under one without a word": {[]Layer{asked(LayerCommandLine, BackendNone)}, &Ceiling{}, "", "", "the ceiling allows process"},
		"under the operator's": {[]Layer{{Kind: LayerOperator, Ceiling: narrow}, asked(LayerCommandLine, BackendNone)}, nil, "", "",
			"the ceiling /c.yaml allows process"},
		"the operator has none":  {[]Layer{{Kind: LayerOperator, Ceiling: &Ceiling{}}, asked(LayerCommandLine, BackendNone)}, nil, BackendNone, "", ""},
		"walls under a ceiling":  {nil, narrow, BackendProcess, "", ""},
		"what there is not":      {[]Layer{asked(LayerCommandLine, "nothing")}, nil, "", "", "process or none"},
		"with a closed network":  {[]Layer{asked(LayerCommandLine, BackendNone), {Kind: LayerCommandLine, Request: Request{Network: &Value[NetworkMode]{V: NetClosed}}}}, nil, "", "", "network closed cannot be held"},
		"with the operator's":    {[]Layer{asked(LayerCommandLine, BackendNone), {Kind: LayerOperator, Request: Request{Home: &Value[HomeMode]{V: HomeNone}}}}, nil, "", "", "home none cannot be held"},
		"with a profile's":       {[]Layer{asked(LayerCommandLine, BackendNone), {Kind: LayerProfile, Request: Request{ProgramsAllow: []Value[string]{}}}}, nil, "", "", "no program at all cannot be held"},
		"with the user's":        {[]Layer{asked(LayerCommandLine, BackendNone), {Kind: LayerUser, Request: Request{Files: []FileRequest{{Place: "*.pem", Glob: true, Access: Deny}}}}}, nil, BackendNone, "not held: deny *.pem", ""},
		"with the project's":     {[]Layer{asked(LayerCommandLine, BackendNone), {Kind: LayerProject, Request: Request{Display: &Value[DisplayMode]{V: DisplayNone}}}}, nil, BackendNone, "not held: display none", ""},
		"with a network as open": {[]Layer{asked(LayerCommandLine, BackendNone), {Kind: LayerCommandLine, Request: Request{Network: &Value[NetworkMode]{V: NetOpen}}}}, nil, BackendNone, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := Decide(openScope, tt.ceiling, append(tt.layers, Defaults(Agent)))
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) || strings.Count(err.Error(), "\n") > 0 {
					t.Fatalf("want %q alone, got %v", tt.refused, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, w := range e.Warnings {
				said += w.Message + "\n"
			}
			if e.Backend != tt.want || (tt.warned == "") != (said == "") || !strings.Contains(said, tt.warned) {
				t.Errorf("got %s with %q, want %s with %q", e.Backend, said, tt.want, tt.warned)
			}
		})
	}
}

// TestNothingIsHeldInSilence: without walls everything can be reached, and whatever a
// layer wanted to take away is refused or told.
func TestNothingIsHeldInSilence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]LayerKind{LayerOperator, LayerCommandLine, LayerEnvironment, LayerUser, LayerProfile, LayerProject}).Draw(t, "layer")
		r, takes := Request{}, 0
		if rapid.Bool().Draw(t, "network") {
			r.Network = &Value[NetworkMode]{V: rapid.SampledFrom([]NetworkMode{NetClosed, NetLocal, NetFiltered, NetOpen}).Draw(t, "mode")}
			if r.Network.V != NetOpen {
				takes++
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "denied") {
			r.Files = append(r.Files, FileRequest{Place: rapid.SampledFrom([]string{"/etc", "**/*.pem", "~/.ssh"}).Draw(t, "place"), Access: Deny})
			takes++
		}
		r.EnvDrop = []Value[string]{{V: "TOKEN"}}
		e, err := Decide(openScope, nil, []Layer{asked(LayerCommandLine, BackendNone), {Kind: kind, Request: r}, Defaults(Agent)})
		var told int
		if err != nil {
			told = len(err.(Errors))
		} else {
			told = len(e.Warnings)
		}
		if told != takes {
			t.Fatalf("%d things are taken away, %d told: %v", takes, told, err)
		}
		if refuses := kind != LayerUser && kind != LayerProject; takes > 0 && refuses != (err != nil) {
			t.Fatalf("layer %d is refused: %v", kind, err)
		}
		if err != nil {
			return
		}
		for _, p := range []string{"/", "/etc/shadow", "/home/u/.ssh/id", "/home/u/p/x.pem", "/tmp/x"} {
			if got := e.Lookup(p); got.Access != Write || got.Protected {
				t.Fatalf("%s is %s", p, got.Access)
			}
		}
		if e.Network != NetOpen || e.Display != DisplayHost || e.Nested != NestedFull {
			t.Fatalf("network %s, display %s, nested %s", e.Network, e.Display, e.Nested)
		}
		if _, passed, _ := e.Env.Lookup("TOKEN", "x"); passed {
			t.Fatal("a variable that is dropped is passed")
		}
	})
}

// TestOpenKeepsWhatIsOurs: without walls the rules that keep carrel's own files stay.
func TestOpenKeepsWhatIsOurs(t *testing.T) {
	own := Layer{Kind: LayerDefault, Request: Request{Files: []FileRequest{{Place: "/home/u/.local/state/carrel", Access: Deny}, {Place: "**/.env", Glob: true, Access: Deny}}}}
	e, err := Decide(openScope, nil, []Layer{asked(LayerCommandLine, BackendNone), own, Defaults(Agent)})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Lookup("/home/u/.local/state/carrel/x").Access; got != Deny {
		t.Errorf("carrel's own files: %s", got)
	}
	if got := e.Lookup("/home/u/p/.env").Access; got != Write {
		t.Errorf("an environment file: %s", got)
	}
	if !slices.ContainsFunc(e.Reasons, func(r Reason) bool { return r.Dimension == DimBackend && r.Value == "none" }) {
		t.Errorf("the backend is not told: %v", e.Reasons)
	}
}
