package house

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"carrel/internal/config"
)

// TestConfigurationManual holds docs/configuration.md to the table that decodes
// configuration files: the tables between its markers are generated. Write them
// anew with go test ./internal/house -run TestConfigurationManual -update.
func TestConfigurationManual(t *testing.T) {
	replaceGenerated(t, "docs/configuration.md", "TestConfigurationManual", map[string]string{
		"keys":    keyTable(t, config.KindUser, config.KindProject, config.KindOperator),
		"ceiling": keyTable(t, config.KindCeiling),
	})
	replaceGenerated(t, "docs/profiles.md", "TestConfigurationManual", map[string]string{"keys": ownKeys(t, config.KindProfile, config.KindUser)})
}

// ownKeys are the rows of one kind that another does not have.
func ownKeys(t *testing.T, kind, other config.Kind) string {
	t.Helper()
	theirs := make(map[string]bool)
	key := func(row string) string { return strings.SplitN(row, "|", 3)[1] }
	for row := range strings.Lines(keyTable(t, other)) {
		theirs[key(row)] = true
	}
	var b strings.Builder
	for i, row := range slices.Collect(strings.Lines(keyTable(t, kind))) {
		if i < 2 || !theirs[key(row)] { // the head
			b.WriteString(row)
		}
	}
	return b.String()
}

// schema is what is used here of a JSON Schema.
type schema struct {
	Type        any
	Enum        []string
	Description string
	Properties  map[string]schema
	AnyOf       []schema
	Items       *schema
	Additional  json.RawMessage `json:"additionalProperties"`
}

// docKey is one row: a key with what may stand there and in which files.
type docKey struct {
	takes, about string
	files        []string
}

func keyTable(t *testing.T, kinds ...config.Kind) string {
	t.Helper()
	keys := make(map[string]*docKey)
	for _, k := range kinds {
		var s schema
		if err := json.Unmarshal(config.SchemaOf(k), &s); err != nil {
			t.Fatalf("schema of %s: %v", k, err)
		}
		collect(keys, "", s, k.String())
	}
	var b strings.Builder
	b.WriteString("| key | takes | files | meaning |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		k := keys[name]
		files := strings.Join(k.files, ", ")
		if len(k.files) == len(kinds) {
			files = "all"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, k.takes, files, strings.ReplaceAll(k.about, "|", `\|`))
	}
	return b.String()
}

// collect adds the keys of one mapping and of those below it. The keys of a
// preset are those of the file itself, so they are not listed twice.
func collect(keys map[string]*docKey, prefix string, s schema, kind string) {
	for name, sub := range s.Properties {
		full := prefix + name
		if keys[full] == nil {
			keys[full] = &docKey{takes: takes(sub), about: sub.Description}
		}
		keys[full].files = append(keys[full].files, kind)
		switch {
		case name == "ceiling", prefix == "" && name == "projects": // its own table; the keys of the file itself
		case name == "presets":
			inner := named(sub)
			only := schema{Properties: map[string]schema{"command": inner.Properties["command"], "description": inner.Properties["description"]}}
			collect(keys, full+".NAME.", only, kind)
		case sub.Items != nil && object(*sub.Items).Properties != nil:
			collect(keys, full+"[].", object(*sub.Items), kind)
		default:
			collect(keys, full+".", object(sub), kind)
		}
	}
}

// object gives the mapping form of a value that also has a one-word form.
func object(s schema) schema {
	for _, form := range s.AnyOf {
		if form.Properties != nil {
			return form
		}
	}
	return s
}

func named(s schema) schema {
	var inner schema
	_ = json.Unmarshal(s.Additional, &inner)
	return inner
}

// takes says in a few words what a key's value looks like.
func takes(s schema) string {
	switch {
	case len(s.AnyOf) == 2:
		return takes(s.AnyOf[0]) + ", or a mapping"
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Items != nil && s.Items.Properties != nil:
		return "list of mappings"
	case s.Items != nil && len(s.Items.AnyOf) == 2:
		return "list of text or mappings"
	case s.Items != nil && fmt.Sprint(s.Items.Type) == "[string integer]":
		return "list of numbers or text"
	case s.Items != nil:
		return "list of text"
	}
	switch typ := fmt.Sprint(s.Type); typ {
	case "boolean":
		return "`true`, `false`"
	case "integer":
		return "whole number"
	case "[string integer]":
		return "size: `512MiB`, `2g`"
	case "object":
		if s.Properties == nil {
			return "names and values"
		}
		return "mapping"
	case "string":
		if strings.Contains(s.Description, "30s") {
			return "duration: `30s`, `5m`"
		}
		return "text"
	default:
		return typ
	}
}

var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// TestManualIsConnected holds that links between the pages lead somewhere, and that they
// lead from the README to every page.
func TestManualIsConnected(t *testing.T) {
	tr := load(t)
	links := make(map[string][]string)
	for _, rel := range tr.other {
		if !strings.HasSuffix(rel, ".md") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(tr.root, rel))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := filepath.ToSlash(filepath.Join(filepath.Dir(rel), m[1]))
			if _, err := os.Stat(filepath.Join(tr.root, to)); err != nil {
				t.Errorf("%s links to %s, which does not exist", rel, to)
			}
			links[rel] = append(links[rel], to)
		}
	}
	reached := map[string]bool{"README.md": true}
	for next := []string{"README.md"}; len(next) > 0; next = next[1:] {
		for _, to := range links[next[0]] {
			if !reached[to] {
				reached[to] = true
				next = append(next, to)
			}
		}
	}
	for _, rel := range tr.other {
		if strings.HasPrefix(rel, "docs/") && strings.HasSuffix(rel, ".md") && !reached[rel] {
			t.Errorf("no page leads from README.md to %s", rel)
		}
	}
}
