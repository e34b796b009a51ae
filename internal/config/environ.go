package config

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/policy"
)

const (
	varPrefix      = "CARREL_"
	varDesktop     = "CARREL_ALLOW_DESKTOP_GUI"
	varVirtual     = "CARREL_VIRTUAL_DISPLAY"
	varPersona     = "CARREL_PERSONA"
	varNetwork     = "CARREL_NETWORK"
	varPermissions = "CARREL_PERMISSIONS"
	VarHistoryDir  = "CARREL_HISTORY_DIR" // history.dir, stronger than any file

	// varPermissionsToo is the older name of varPermissions.
	varPermissionsToo = "AGENT_WORKSPACE_PERMISSIONS"
	// VarCeilingFD names the descriptor by which a front end hands its ceiling on.
	VarCeilingFD = "CARREL_CEILING_FD"
)

// variables are what people may set. What Carrel sets inside to say where a
// command runs (CARREL, CARREL_WORKSPACE) has names of its own, so that a
// Carrel started inside never takes a report for an order.
var (
	variables = []string{varDesktop, varVirtual, varPersona, varNetwork, varPermissions, VarHistoryDir}
	reports   = []string{"CARREL_WORKSPACE", "CARREL_PATH", VarCeilingFD}
)

// environment turns the CARREL_ variables into a layer.
func (l *loader) environment() {
	vars := l.gather()
	var r policy.Request
	if v, ok := vars[varDesktop]; ok {
		r.AllowDesktopGUI = l.switched(varDesktop, v)
	}
	if v, ok := vars[varVirtual]; ok {
		r.VirtualDisplay = l.switched(varVirtual, v)
	}
	if v, ok := vars[varPersona]; ok {
		r.Persona = wordOf[policy.Persona](l, varPersona, v, []string{"human", "agent"}, nil)
	}
	if v, ok := vars[varNetwork]; ok {
		r.Network = wordOf[policy.NetworkMode](l, varNetwork, v, netAsked, netAliases)
	}
	if v, ok := vars[VarHistoryDir]; ok {
		l.historyDir = l.place(VarHistoryDir, v)
	}
	if len(vars) > 0 {
		l.out.Layers = append(l.out.Layers, policy.Layer{Kind: policy.LayerEnvironment, Name: "environment", Request: r})
	}
}

// gather collects the variables and refuses those that nobody reads: a typing
// mistake in one that restricts would otherwise open what it should close.
func (l *loader) gather() map[string]string {
	vars := map[string]string{}
	for _, entry := range l.opts.Environ {
		name, v, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, varPrefix) || slices.Contains(reports, name) {
			continue
		}
		if !slices.Contains(variables, name) {
			l.wrong(name, "Carrel does not know this variable%s", suggestVariable(name))
			continue
		}
		if old, twice := vars[name]; twice && old != v {
			l.wrong(name, "the variable is set twice, to %q and %q", old, v)
		}
		vars[name] = v
	}
	return vars
}

func suggestVariable(name string) string {
	if s := didYouMean(name, variables); s != "" {
		return s
	}
	return "; there are " + strings.Join(variables, ", ")
}

func (l *loader) wrong(name, format string, args ...any) {
	if name != strings.ToValidUTF8(name, "?") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		name = fmt.Sprintf("%q", name)
	}
	l.problems = append(l.problems, problemf("", name, format, args...))
}

// switched reads a variable that is on or off. The tokens are exact: "TRUE" or
// an empty value is a mistake and not "not set".
func (l *loader) switched(name, v string) *policy.Value[bool] {
	on := v == "1" || v == "true" || v == "yes"
	if !on && v != "0" && v != "false" && v != "no" {
		l.wrong(name, "%q is not one of 1, true, yes or 0, false, no; unset it for the default", v)
		return nil
	}
	l.keep(name, v)
	return &policy.Value[bool]{V: on, Source: variableSource(name)}
}

// place reads a variable that is a path.
func (l *loader) place(name, v string) *policy.Value[string] {
	if wrong := badHistoryDir(value{text: v}); wrong != "" {
		l.wrong(name, "%s", wrong)
		return nil
	}
	l.keep(name, v)
	return &policy.Value[string]{V: v, Source: variableSource(name)}
}

func wordOf[T ~string](l *loader, name, v string, words []string, also map[string]string) *policy.Value[T] {
	word := v
	if canonical, ok := also[v]; ok {
		word = canonical
	}
	if !slices.Contains(words, word) {
		l.wrong(name, "%q is not one of %s%s", v, strings.Join(words, ", "), didYouMean(v, words))
		return nil
	}
	l.keep(name, v)
	return &policy.Value[T]{V: T(word), Source: variableSource(name)}
}

func (l *loader) keep(name, v string) {
	l.out.values = append(l.out.values, Setting{Key: name, Value: v, Source: variableSource(name)})
}

func variableSource(name string) policy.Source {
	return policy.Source{Layer: policy.LayerEnvironment, Text: name}
}
