package policy

import "testing"

func TestAgentHome(t *testing.T) {
	ask := func(kind LayerKind, m AgentHomeMode) Layer {
		return Layer{Kind: kind, Request: Request{AgentHome: &Value[AgentHomeMode]{V: m}}}
	}
	private := &Ceiling{AgentHome: &Value[AgentHomeMode]{V: AgentHomePrivate}}
	for _, row := range []struct {
		name    string
		layers  []Layer
		ceiling *Ceiling
		want    AgentHomeMode // "" for a refusal
	}{
		{"nobody", nil, nil, AgentHomePrivate},
		{"the user", []Layer{ask(LayerUser, AgentHomeShared)}, nil, AgentHomeShared},
		{"the flag over the user", []Layer{ask(LayerCommandLine, AgentHomePrivate), ask(LayerUser, AgentHomeShared)}, nil, AgentHomePrivate},
		{"the operator's narrower word", []Layer{ask(LayerOperator, AgentHomePrivate), ask(LayerUser, AgentHomeShared)}, nil, AgentHomePrivate},
		{"the project asks for more", []Layer{ask(LayerProject, AgentHomeShared)}, nil, AgentHomePrivate},
		{"the project asks for less", []Layer{ask(LayerUser, AgentHomeShared), ask(LayerProject, AgentHomePrivate)}, nil, AgentHomePrivate},
		{"a ceiling, nobody asks", nil, private, AgentHomePrivate},
		{"a ceiling, a flag", []Layer{ask(LayerCommandLine, AgentHomeShared)}, private, ""},
		{"an unknown word", []Layer{ask(LayerCommandLine, "all")}, nil, ""},
	} {
		got, err := Decide(Scope{Cwd: "/p", Project: "/p", Home: "/h", Tmp: "/tmp"}, row.ceiling, row.layers)
		if (err != nil) != (row.want == "") || err == nil && got.AgentHome != row.want {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
	}
	if !private.Restricted() {
		t.Error("a ceiling of agent_home alone counts as none")
	}
}
