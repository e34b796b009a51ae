package policy

import (
	"strings"
	"testing"
)

// TestIsolation: what is demanded chooses a backend where none is named, and refuses one that gives less.
// Only tightening composes, and a ceiling holds whatever is asked for.
func TestIsolation(t *testing.T) {
	demands := func(kind LayerKind, i Isolation) Layer {
		return Layer{Kind: kind, Request: Request{Isolation: &Value[Isolation]{V: i, Source: Source{Text: "isolation"}}}}
	}
	ceiling := func(i Isolation) *Ceiling {
		src := Source{Layer: LayerCeiling, File: "/c.yaml"}
		return &Ceiling{Source: src, Isolation: &Value[Isolation]{V: i, Source: src}}
	}
	const cli, user, profile, project, operator = LayerCommandLine, LayerUser, LayerProfile, LayerProject, LayerOperator
	for name, c := range map[string]struct {
		layers  []Layer
		ceiling *Ceiling
		backend Backend
		is      Isolation
		wrong   string // of the error, or of a warning where there is a backend
	}{
		"nothing":                 {nil, nil, BackendProcess, IsolationProcess, ""},
		"a container":             {[]Layer{asked(cli, BackendContainer)}, nil, BackendContainer, IsolationContainer, ""},
		"no walls":                {[]Layer{asked(cli, BackendNone)}, nil, BackendNone, IsolationNone, ""},
		"a kernel":                {[]Layer{demands(profile, IsolationKernel)}, nil, BackendGvisor, IsolationKernel, ""},
		"a machine":               {[]Layer{demands(cli, IsolationVM)}, nil, BackendVM, IsolationVM, ""},
		"walls":                   {[]Layer{demands(user, IsolationProcess)}, nil, BackendProcess, IsolationProcess, ""},
		"a stronger one is named": {[]Layer{demands(user, IsolationKernel), asked(cli, BackendLima)}, nil, BackendLima, IsolationVM, ""},
		"a weaker one is named": {[]Layer{demands(profile, IsolationKernel), asked(cli, BackendProcess)},
			nil, "", "", "choose backend gvisor or vm or lima"},
		"a weaker one in the file": {[]Layer{demands(cli, IsolationVM), asked(user, BackendGvisor)},
			nil, "", "", "backend gvisor is weaker than isolation vm"},
		"walls and none": {[]Layer{demands(user, IsolationProcess), asked(cli, BackendNone)},
			nil, "", "", "backend none is weaker"},
		"a flag over the file": {[]Layer{demands(user, IsolationVM), demands(cli, IsolationProcess)},
			nil, BackendProcess, IsolationProcess, ""},
		"a flag under the operator": {[]Layer{demands(operator, IsolationVM), demands(cli, IsolationKernel)},
			nil, BackendVM, IsolationVM, "the operator sets vm"},
		"a project tightens": {[]Layer{demands(user, IsolationKernel), demands(project, IsolationVM)}, nil, BackendVM, IsolationVM, ""},
		"a project widens": {[]Layer{demands(user, IsolationVM), demands(project, IsolationKernel)},
			nil, BackendVM, IsolationVM, "may only tighten"},
		"a ceiling": {nil, ceiling(IsolationKernel), BackendGvisor, IsolationKernel, ""},
		"a ceiling and a weaker one": {[]Layer{asked(cli, BackendContainer)},
			ceiling(IsolationKernel), "", "", "the ceiling /c.yaml allows gvisor or vm or lima"},
		"a ceiling and the user's": {[]Layer{asked(user, BackendGvisor)},
			ceiling(IsolationVM), "", "", "the ceiling /c.yaml allows vm or lima"},
		"less is asked than a ceiling": {[]Layer{demands(cli, IsolationKernel)},
			ceiling(IsolationVM), "", "", "isolation: isolation asks for kernel"},
		"more is asked than a ceiling": {[]Layer{demands(cli, IsolationVM)}, ceiling(IsolationKernel), BackendVM, IsolationVM, ""},
		"what there is not":            {[]Layer{demands(cli, "strong")}, nil, "", "", "vm, kernel or process"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Decide(openScope, c.ceiling, append(c.layers, Defaults(Agent)))
			if c.backend == "" || err != nil {
				if err == nil || c.backend != "" || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%v, want %q", err, c.wrong)
				}
				return
			}
			is := ""
			for _, r := range e.Reasons {
				if r.Dimension == DimIsolation {
					is += r.Value
				}
			}
			warned := false
			for _, w := range e.Warnings {
				warned = warned || strings.Contains(w.Message, c.wrong)
			}
			if e.Backend != c.backend || is != string(c.is) || c.wrong != "" && !warned {
				t.Errorf("%s, %s, warnings %v", e.Backend, is, e.Warnings)
			}
		})
	}
}
