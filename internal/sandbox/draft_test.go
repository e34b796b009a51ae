package sandbox

import (
	"strings"
	"testing"

	"carrel/internal/policy"
)

// TestDraft: all that file rules open for writing is shown out of a layer that is kept, also below a
// place that is read-only; what has none is refused.
func TestDraft(t *testing.T) {
	rule := func(at string, a policy.Access) policy.Rule {
		return policy.Rule{Path: at, Access: a, Source: policy.Source{Layer: policy.LayerCommandLine, Text: "--test"}}
	}
	in := Input{Draft: true, Self: "/bin/carrel", Policy: &policy.Effective{Rules: []policy.Rule{
		rule("/p", policy.Write), rule("/p/closed", policy.Read), rule("/p/closed/open", policy.Write), rule("/p/in", policy.Write),
	}}}
	in.Expanded = []policy.Rule{rule("/p/in", policy.Write)}
	in.Pins = []string{"/p/in"}
	in.Overlays = []Overlay{{Path: "/p", Lower: "/p", Upper: "/s/upper", Work: "/s/work", Kept: true}, {Path: "/c", Lower: "/c",
		Upper: "/s/c"}}
	facts := allDirs{}
	plan, err := Compile(in, facts)
	if err != nil {
		t.Fatal(err)
	}
	kept := make(map[string]bool)
	for _, m := range plan.Mounts {
		host := strings.HasPrefix(m.Source, "/p")
		if host && m.Kind == MountBind && !m.ReadOnly {
			t.Errorf("%+v passes by the layer", m)
		}
		if m.Kept {
			kept[m.Target] = true
			if m.Kind != MountOverlay || m.Lower != "/p" || m.Upper != "/s/upper" || m.Work != "/s/work" || m.Spare != "" {
				t.Errorf("%+v", m)
			}
		}
	}
	if !kept["/p"] || !kept["/p/closed/open"] || kept["/c"] {
		t.Errorf("%v", kept)
	}
	in.Policy.Rules = append(in.Policy.Rules, rule("/elsewhere", policy.Write))
	if _, err := Compile(in, facts); err == nil || !strings.Contains(err.Error(), "no layer lies over it") {
		t.Errorf("a place without a layer: %v", err)
	}
	in.Draft = false
	if _, err := Compile(in, facts); err != nil {
		t.Errorf("without a draft: %v", err)
	}
	for _, engine := range []Engine{EngineBubblewrap, EngineNone, EngineContainer, EngineLima, EngineGvisor, EngineVM, EngineLandlock,
		EngineNamespaces} {
		refused := false
		for _, r := range engine.Refusals(&policy.Effective{History: policy.HistoryDraft}, plan) {
			refused = refused || r.Dimension == policy.DimHistory && r.Subject == "draft"
		}
		if refused != (engine != EngineNamespaces) {
			t.Errorf("%s refuses a draft: %v", engine, refused)
		}
	}
}

// allDirs has a directory at each path.
type allDirs struct{}

func (allDirs) Resolve(path string) (string, Kind) { return path, KindDir }
func (allDirs) Identity(string) (dev, ino uint64)  { return 1, 2 }
