package config

import (
	"fmt"
	"strings"

	"carrel/internal/policy"
)

// Grant is a request for a place as a configuration file writes it: what is
// relative starts at the project.
func Grant(place string, a policy.Access, src policy.Source) policy.FileRequest {
	return policy.FileRequest{Place: atProject(place), Access: a, Source: src}
}

// DenyOf is a deny entry: a pattern, or a path where it holds no wildcard and
// names a directory.
func DenyOf(entry string, src policy.Source) policy.FileRequest {
	r := policy.FileRequest{Place: entry, Glob: true, Access: policy.Deny, Source: src}
	name := entry == "~" || strings.HasPrefix(entry, ":")
	if !strings.ContainsAny(entry, `*?[{\`) && (name || strings.Contains(entry, "/")) {
		r.Place, r.Glob = atProject(entry), false
	}
	return r
}

// ProtectOf is a protect entry, which is always a pattern.
func ProtectOf(entry string, src policy.Source) policy.FileRequest {
	if rest, ok := strings.CutPrefix(entry, "./"); ok {
		entry = ":project/" + rest
	}
	return policy.FileRequest{Place: entry, Glob: true, Access: policy.Read, Source: src}
}

// atProject makes a relative place start at the project.
func atProject(place string) string {
	if strings.HasPrefix(place, "/") || strings.HasPrefix(place, "~") || strings.HasPrefix(place, ":") {
		return place
	}
	return ":project/" + place
}

func badPlace(v value) string {
	if v.text == "" {
		return "the path is empty"
	}
	return ""
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

func textValue[T ~string](v value) *policy.Value[T] {
	return &policy.Value[T]{V: T(v.text), Source: v.source}
}

func boolValue(v value) *policy.Value[bool] {
	return &policy.Value[bool]{V: v.flag, Source: v.source}
}

func putVariable(t *target, v value) {
	if t.request.EnvSet == nil {
		t.request.EnvSet = map[string]policy.Value[string]{}
	}
	t.request.EnvSet[v.name] = *textValue[string](v)
}

// openPrograms makes an empty list differ from none.
func openPrograms(t *target, _ value) *target {
	t.request.ProgramsAllow = []policy.Value[string]{}
	return t
}

func openPreset(t *target, v value) *target {
	*t.presets = append(*t.presets, Preset{Name: v.name, Source: v.source})
	p := &(*t.presets)[len(*t.presets)-1]
	return &target{preset: p, request: &p.Request, decoder: t.decoder}
}

// badPresetName says what is wrong with the name of a preset.
func badPresetName(name string) string {
	bad := name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != ""
	if bad || name[0] == '-' || name[0] == '.' {
		return quoted(name) + " is not a preset's name: use up to 64 letters, digits, dots, dashes and underscores"
	}
	return ""
}
