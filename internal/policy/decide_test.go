package policy

import (
	"strings"
	"testing"
	"time"
)

func val[T any](v T, text string) *Value[T] { return &Value[T]{V: v, Source: Source{Text: text}} }

func asks(kind LayerKind, change func(*Request)) Layer {
	l := Layer{Kind: kind, Name: kind.String()}
	change(&l.Request)
	return l
}

func reasonOf(e *Effective, dim Dimension) Reason {
	for _, r := range e.Reasons {
		if r.Dimension == dim {
			return r
		}
	}
	return Reason{}
}

func network(m NetworkMode) func(*Request) {
	return func(r *Request) { r.Network = val(m, "network "+string(m)) }
}

func TestNetworkLayers(t *testing.T) {
	ceiling := func(m NetworkMode) *Ceiling {
		return &Ceiling{Network: &Value[NetworkMode]{V: m, Source: Source{Layer: LayerCeiling, File: "/c.json", Line: 3}}}
	}
	tests := []struct {
		name    string
		ceiling *Ceiling
		layers  []Layer
		want    NetworkMode
		refused bool
		warned  string
		note    string
	}{
		{name: "nobody", want: NetClosed},
		{name: "default", layers: []Layer{asks(LayerDefault, network(NetOpen))}, want: NetOpen},
		{name: "user over default", layers: []Layer{asks(LayerDefault, network(NetOpen)), asks(LayerUser, network(NetLocal))}, want: NetLocal},
		{name: "command line over user, wider", layers: []Layer{asks(LayerUser, network(NetClosed)), asks(LayerCommandLine, network(NetOpen))}, want: NetOpen},
		{name: "command line over environment", layers: []Layer{asks(LayerEnvironment, network(NetOpen)), asks(LayerCommandLine, network(NetClosed))}, want: NetClosed},
		{name: "default under the ceiling", ceiling: ceiling(NetLocal), layers: []Layer{asks(LayerDefault, network(NetOpen))}, want: NetLocal, note: "limited by the ceiling from open"},
		{name: "user beyond the ceiling", ceiling: ceiling(NetLocal), layers: []Layer{asks(LayerUser, network(NetOpen))}, refused: true},
		{name: "profile beyond the ceiling", ceiling: ceiling(NetLocal), layers: []Layer{asks(LayerProfile, network(NetOpen))}, refused: true},
		{name: "environment beyond the ceiling", ceiling: ceiling(NetLocal), layers: []Layer{asks(LayerEnvironment, network(NetOpen))}, refused: true},
		{name: "narrower than the ceiling", ceiling: ceiling(NetLocal), layers: []Layer{asks(LayerUser, network(NetClosed))}, want: NetClosed},
		{name: "operator is limited, not refused", ceiling: ceiling(NetLocal), layers: []Layer{asks(LayerOperator, network(NetOpen))}, want: NetLocal},
		{name: "operator stands above the command line", layers: []Layer{asks(LayerOperator, network(NetLocal)), asks(LayerCommandLine, network(NetOpen))}, want: NetLocal, warned: "the operator sets local"},
		{name: "narrower than the operator", layers: []Layer{asks(LayerOperator, network(NetOpen)), asks(LayerCommandLine, network(NetClosed))}, want: NetClosed},
		{name: "operator over default", layers: []Layer{asks(LayerOperator, network(NetOpen)), asks(LayerDefault, network(NetClosed))}, want: NetOpen},
		{name: "project tightens", layers: []Layer{asks(LayerUser, network(NetOpen)), asks(LayerProject, network(NetClosed))}, want: NetClosed, note: "tightened by the project file from open"},
		{name: "project tightens the command line, visibly", layers: []Layer{asks(LayerCommandLine, network(NetOpen)), asks(LayerProject, network(NetClosed))}, want: NetClosed, warned: "tightened to closed"},
		{name: "project cannot widen", layers: []Layer{asks(LayerDefault, network(NetClosed)), asks(LayerProject, network(NetOpen))}, want: NetClosed, warned: "ignored"},
		{name: "project cannot widen what nobody set", layers: []Layer{asks(LayerProject, network(NetLocal))}, want: NetClosed, warned: "ignored"},
		{name: "filtered is decided as any mode", layers: []Layer{asks(LayerUser, network(NetFiltered))}, want: NetFiltered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := Decide(testScope(), tt.ceiling, tt.layers)
			if tt.refused {
				r := Refusals(err)
				if len(r) != 1 || r[0].Dimension != DimNetwork || r[0].Requested != "open" || r[0].Allowed != "local" || r[0].Source.File != "/c.json" || r[0].Asked.Text != "network open" {
					t.Fatalf("error %v, want one refusal of open by /c.json", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Network != tt.want {
				t.Errorf("network %s, want %s", e.Network, tt.want)
			}
			if tt.warned != "" {
				wantWarning(t, e, tt.warned)
			} else if len(e.Warnings) > 0 {
				t.Errorf("warnings %v, want none", e.Warnings)
			}
			if r := reasonOf(e, DimNetwork); r.Value != string(tt.want) || !strings.Contains(r.Note, tt.note) {
				t.Errorf("reason %+v, want value %s, note %q", r, tt.want, tt.note)
			}
		})
	}
}

// TestHistory: off is the wider of the two, so that neither a project nor a
// request under a ceiling can turn it off, and both can turn it on.
func TestHistory(t *testing.T) {
	history := func(k LayerKind, m HistoryMode) Layer {
		return asks(k, func(r *Request) { r.History = val(m, "history") })
	}
	on := &Ceiling{History: &Value[HistoryMode]{HistoryOn, Source{Layer: LayerCeiling, File: "/c"}}}
	for _, tt := range []struct {
		name    string
		ceiling *Ceiling
		layers  []Layer
		want    HistoryMode
		warned  bool
		refused bool
	}{
		{"nobody says anything", nil, nil, HistoryOn, false, false},
		{"the user turns it off", nil, []Layer{history(LayerUser, HistoryOff)}, HistoryOff, false, false},
		{"the command line turns it on again", nil, []Layer{history(LayerUser, HistoryOff), history(LayerCommandLine, HistoryOn)}, HistoryOn, false, false},
		{"a project cannot turn it off", nil, []Layer{history(LayerProject, HistoryOff)}, HistoryOn, true, false},
		{"a project turns it on", nil, []Layer{history(LayerUser, HistoryOff), history(LayerProject, HistoryOn)}, HistoryOn, false, false},
		{"a ceiling refuses off", on, []Layer{history(LayerCommandLine, HistoryOff)}, "", false, true},
		{"an operator's off is no order", nil, []Layer{history(LayerOperator, HistoryOff)}, HistoryOff, false, false},
		{"an unknown word", nil, []Layer{history(LayerUser, "of")}, "", false, true},
	} {
		e, err := Decide(testScope(), tt.ceiling, tt.layers)
		if (err != nil) != tt.refused {
			t.Errorf("%s: error %v", tt.name, err)
			continue
		}
		if err == nil && (e.History != tt.want || (len(e.Warnings) > 0) != tt.warned || reasonOf(e, DimHistory).Value != string(tt.want)) {
			t.Errorf("%s: %s, warnings %v, reason %+v", tt.name, e.History, e.Warnings, reasonOf(e, DimHistory))
		}
	}
}

// TestEveryDimensionHasAReason: explain must never be silent.
func TestEveryDimensionHasAReason(t *testing.T) {
	e := mustDecide(t, nil, Defaults(Human))
	for _, dim := range []Dimension{DimPersona, DimFiles, DimNetwork, DimDisplay, DimEnv, DimHome, DimNested, DimHistory, DimDevices, DimPrograms, DimTimeout, DimMemory, DimPids} {
		r := reasonOf(e, dim)
		if r.Value == "" || r.Source == (Source{}) {
			t.Errorf("%s: reason %+v, want a value and a source", dim, r)
		}
	}
}

// TestAllRefusalsTogether: one start names everything that has to change.
func TestAllRefusalsTogether(t *testing.T) {
	src := Source{Layer: LayerCeiling, File: "/c"}
	ceiling := &Ceiling{
		Network: &Value[NetworkMode]{NetClosed, src}, Display: &Value[DisplayMode]{DisplayNone, src},
		Home: &Value[HomeMode]{HomeNone, src}, Nested: &Value[Nesting]{NestedNone, src}, History: &Value[HistoryMode]{HistoryOn, src},
		Memory: &Value[int64]{1 << 20, src}, Pids: &Value[int64]{10, src}, Timeout: &Value[time.Duration]{time.Minute, src},
		Devices: []Value[string]{{"/dev/null", src}}, ProgramsAllow: []Value[string]{{"/bin/true", src}},
		AllowHosts: []Value[string]{{"example.com", src}}, Mounts: []Mount{{HostPath: "/w", Source: src}},
	}
	l := asks(LayerCommandLine, func(r *Request) {
		r.Network, r.Display = val(NetOpen, "--network"), val(DisplayHost, "--display")
		r.Home, r.Nested, r.History = val(HomeFull, "--home"), val(NestedFull, "--nested"), val(HistoryOff, "--history")
		r.Memory, r.Pids, r.Timeout = val(int64(0), "--memory"), val(int64(11), "--pids"), val(time.Hour, "--timeout")
		r.Devices = []Value[string]{*val("/dev/kvm", "--device")}
		r.ProgramsAllow = []Value[string]{*val("sh", "programs")}
		r.AllowHosts = []Value[string]{*val("evil.example", "hosts")}
		r.Files = []FileRequest{rule("/w", Write), rule("/data", Read)}
	})
	_, err := Decide(testScope(), ceiling, []Layer{l})
	count := map[Dimension]int{}
	for _, r := range Refusals(err) {
		count[r.Dimension]++
		if r.Source.File != "/c" || r.Asked.Layer != LayerCommandLine || r.Requested == "" || r.Allowed == "" {
			t.Errorf("refusal %+v is not whole", r)
		}
	}
	want := map[Dimension]int{DimNetwork: 2, DimDisplay: 1, DimHome: 1, DimNested: 1, DimHistory: 1, DimMemory: 1, DimPids: 1, DimTimeout: 1, DimDevices: 1, DimPrograms: 1, DimFiles: 3}
	for dim, n := range want {
		if count[dim] != n {
			t.Errorf("%s: %d refusals, want %d\n%v", dim, count[dim], n, err)
		}
	}
}

// TestCeilingLimitsDefaults: the same ceiling only narrows what nobody asked.
func TestCeilingLimitsDefaults(t *testing.T) {
	src := Source{Layer: LayerCeiling, File: "/c"}
	ceiling := &Ceiling{
		Display: &Value[DisplayMode]{DisplayVirtual, src}, Home: &Value[HomeMode]{HomeNone, src},
		Memory: &Value[int64]{1 << 20, src}, Devices: []Value[string]{{"/dev/null", src}},
		ProgramsAllow: []Value[string]{{"/bin/true", src}}, AllowHosts: []Value[string]{{"*.example.com", src}},
	}
	def := asks(LayerDefault, func(r *Request) {
		r.Persona = val(Human, "shell")
		r.Network = val(NetOpen, "default")
		r.Devices = []Value[string]{*val("/dev/kvm", "default")}
		r.AllowHosts = []Value[string]{*val("evil.example", "default"), *val("api.example.com:443", "default")}
	})
	e := mustDecide(t, ceiling, def)
	switch {
	case e.Display != DisplayNone:
		t.Errorf("display %s, want none: nobody asked for a virtual one", e.Display)
	case e.Home != HomeNone, e.Resources.Memory != 1<<20, len(e.Devices) != 0:
		t.Errorf("%+v is wider than the ceiling", e)
	case e.Network != NetFiltered:
		t.Errorf("network %s, want filtered: the ceiling lists hosts", e.Network)
	case len(e.Programs) != 1 || e.Programs[0].V != "/bin/true":
		t.Errorf("programs %v, want the ceiling's", e.Programs)
	case len(e.Hosts) != 1 || e.Hosts[0].V != "api.example.com:443":
		t.Errorf("hosts %v, want api.example.com:443", e.Hosts)
	}
}

// TestOperatorCeiling: both ceilings apply.
func TestOperatorCeiling(t *testing.T) {
	op := Layer{Kind: LayerOperator, Ceiling: &Ceiling{Network: val(NetLocal, "operator")}}
	given := &Ceiling{Home: val(HomeNone, "given")}
	_, err := Decide(testScope(), given, []Layer{op, asks(LayerCommandLine, func(r *Request) {
		r.Network, r.Home = val(NetOpen, "n"), val(HomeFull, "h")
	})})
	if r := Refusals(err); len(r) != 2 {
		t.Errorf("error %v, want two refusals", err)
	}
	bad := Layer{Kind: LayerUser, Ceiling: &Ceiling{}}
	if _, err := Decide(testScope(), nil, []Layer{bad}); err == nil {
		t.Error("a ceiling in the user's layer: want an error")
	}
}

func TestPersona(t *testing.T) {
	persona := func(k LayerKind, p Persona) Layer {
		return asks(k, func(r *Request) { r.Persona = val(p, "persona") })
	}
	e := mustDecide(t, nil, persona(LayerDefault, Human), persona(LayerProject, Agent))
	if e.Persona != Human {
		t.Errorf("persona %s, want human", e.Persona)
	}
	wantWarning(t, e, "persona")
	if e := mustDecide(t, nil, persona(LayerDefault, Human), persona(LayerUser, Agent)); e.Persona != Agent {
		t.Errorf("persona %s, want agent", e.Persona)
	}
	if e := mustDecide(t, nil); e.Persona != Agent {
		t.Errorf("nobody says: persona %s, want agent", e.Persona)
	}
	if _, err := Decide(testScope(), nil, []Layer{persona(LayerUser, "root")}); err == nil {
		t.Error("persona root: want an error")
	}
}

// TestLayerStamp: a project's value that claims to be the command line's is
// still a project's.
func TestLayerStamp(t *testing.T) {
	l := asks(LayerProject, func(r *Request) {
		r.Network = &Value[NetworkMode]{NetOpen, Source{Layer: LayerCommandLine}}
		r.Files = []FileRequest{{Place: "/data", Access: Write, Source: Source{Layer: LayerCommandLine}}}
		r.Devices = []Value[string]{{"/dev/kvm", Source{Layer: LayerCommandLine}}}
	})
	e := mustDecide(t, nil, l)
	if e.Network != NetClosed || e.Lookup("/data").Access != Unset || len(e.Devices) != 0 {
		t.Errorf("%+v: the project passed as the command line", e)
	}
}

func TestResources(t *testing.T) {
	mem := func(k LayerKind, n int64) Layer {
		return asks(k, func(r *Request) { r.Memory = val(n, "memory") })
	}
	tests := []struct {
		name   string
		layers []Layer
		want   int64
		warned bool
	}{
		{"none", nil, 0, false},
		{"project sets a limit where there is none", []Layer{mem(LayerProject, 5)}, 5, false},
		{"project lowers", []Layer{mem(LayerUser, 9), mem(LayerProject, 5)}, 5, false},
		{"project raises", []Layer{mem(LayerUser, 9), mem(LayerProject, 12)}, 9, true},
		{"project takes the limit away", []Layer{mem(LayerUser, 9), mem(LayerProject, 0)}, 9, true},
		{"command line takes it away", []Layer{mem(LayerUser, 9), mem(LayerCommandLine, 0)}, 0, false},
	}
	for _, tt := range tests {
		e := mustDecide(t, nil, tt.layers...)
		if e.Resources.Memory != tt.want || (len(e.Warnings) > 0) != tt.warned {
			t.Errorf("%s: memory %d, warnings %v; want %d, warned %v", tt.name, e.Resources.Memory, e.Warnings, tt.want, tt.warned)
		}
	}
	if _, err := Decide(testScope(), nil, []Layer{mem(LayerUser, -1)}); err == nil {
		t.Error("negative memory: want an error")
	}
}

func TestScopeIsChecked(t *testing.T) {
	for _, s := range []Scope{{}, {Cwd: "w", Project: "/w"}, {Cwd: "/w", Project: "/w/"}, {Cwd: "/w", Project: "/w", Home: "."}, {Cwd: "/w", Project: "/w", System: []string{"usr"}}} {
		if _, err := Decide(s, nil, nil); err == nil {
			t.Errorf("scope %+v: want an error", s)
		}
	}
}
