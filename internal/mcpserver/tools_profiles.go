package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/fileops"
)

type profileIn struct {
	Action  string `json:"action"`
	ID      string `json:"id,omitempty" jsonschema:"the profile; get and check"`
	Kind    string `json:"kind,omitempty" jsonschema:"template: project-dev, restricted-browser or browser-session"`
	Project string `json:"project_path,omitempty" jsonschema:"template: of project-dev"`
	Browser string `json:"browser_path,omitempty" jsonschema:"template: the browser"`
	DataDir string `json:"user_data_dir,omitempty" jsonschema:"template: where browser-session keeps its logins"`
	YAML    string `json:"profile,omitempty" jsonschema:"validate: the profile, as YAML"`
}

type profileOut struct {
	Profiles []map[string]any `json:"profiles,omitzero"`
	Profile  map[string]any   `json:"profile,omitempty"`
	Path     string           `json:"path,omitempty"`
}

func readProfile(ctx context.Context, c *call, in profileIn) (profileOut, error) {
	var out profileOut
	s := c.server
	needs := func(what, value string) error {
		if value == "" {
			return c.tool.badArguments(what, fmt.Sprintf("action %s needs %s", in.Action, what))
		}
		return nil
	}
	switch in.Action {
	case "list":
		out.Profiles = []map[string]any{}
		return out, s.carrel(ctx, nil, &out.Profiles, "profile", "list", "--json")
	case "get", "check":
		if err := needs("id", in.ID); err != nil {
			return out, err
		}
		command := map[string]string{"get": "show", "check": "check"}[in.Action]
		return out, s.carrel(ctx, nil, &out.Profile, "profile", command, "--json", "--", in.ID)
	case "template":
		if err := needs("kind", in.Kind); err != nil {
			return out, err
		}
		args := []string{"profile", "template", "--json"}
		for flag, value := range map[string]string{"project": c.within(in.Project), "browser": in.Browser, "data-dir": in.DataDir} {
			if value != "" {
				args = append(args, "--"+flag+"="+value)
			}
		}
		slices.Sort(args[3:])
		return out, s.carrel(ctx, nil, &out.Profile, append(args, "--", in.Kind)...)
	case "validate":
		if err := needs("profile", in.YAML); err != nil {
			return out, err
		}
		var checked []map[string]any
		err := s.carrel(ctx, []byte(in.YAML), &checked, "profile", "put", "--json", "--dry-run", "--replace", "--", "checked", "-")
		if err == nil && len(checked) > 0 {
			out.Profile = checked[0]
		}
		return out, err
	case "path":
		out.Path = ""
		var raw []byte
		err := s.carrelText(ctx, &raw, "profile", "path")
		out.Path = strings.TrimSuffix(string(raw), "\n")
		return out, err
	}
	return out, nil
}

type profileWriteIn struct {
	Action  string `json:"action"`
	ID      string `json:"id" jsonschema:"its name"`
	YAML    string `json:"profile,omitempty" jsonschema:"put and import: the profile, as YAML; import takes one of agent-workspace-linux too"`
	Replace bool   `json:"replace,omitempty" jsonschema:"take the place of one that is there"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"check everything, and write nothing"`
}

type profileWriteOut struct {
	Done   []map[string]any `json:"done,omitempty"`
	Delete map[string]any   `json:"deleted,omitempty"`
}

func writeProfile(ctx context.Context, c *call, in profileWriteIn) (profileWriteOut, error) {
	var out profileWriteOut
	args := []string{"profile", in.Action, "--json"}
	if in.DryRun {
		args = append(args, "--dry-run")
	}
	if in.Replace && in.Action != "delete" {
		args = append(args, "--replace")
	}
	switch in.Action {
	case "put", "import":
		if in.YAML == "" {
			return out, c.tool.badArguments("profile", in.Action+" needs profile: the text of it")
		}
		if in.Action == "import" {
			args = append(args, "--name="+in.ID, "--", "-")
		} else {
			args = append(args, "--", in.ID, "-")
		}
		return out, c.server.carrel(ctx, []byte(in.YAML), &out.Done, args...)
	case "delete":
		return out, c.server.carrel(ctx, nil, &out.Delete, append(args, "--", in.ID)...)
	}
	return out, nil
}

type exportIn struct {
	ID      string `json:"id" jsonschema:"the profile"`
	Output  string `json:"output_path,omitempty" jsonschema:"write it into this file, in the workspace"`
	Replace bool   `json:"replace,omitempty" jsonschema:"take the place of a file that is there"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"only say what would be written"`
}

type exportOut struct {
	ID      string `json:"id"`
	Profile string `json:"profile"` // as YAML
	Output  string `json:"output_path,omitempty"`
	Wrote   bool   `json:"wrote"`
	DryRun  bool   `json:"dry_run"`
	Step    uint64 `json:"step_id,omitempty"`
}

// exportProfile writes as any file tool does, in the workspace: a path that an agent
// chooses leads where its own programs may write, and nowhere else.
func exportProfile(ctx context.Context, c *call, in exportIn) (exportOut, error) {
	out := exportOut{ID: in.ID, Output: in.Output, DryRun: in.DryRun}
	var got struct {
		YAML string `json:"yaml"`
	}
	if err := c.server.carrel(ctx, nil, &got, "profile", "export", "--json", "--", in.ID); err != nil {
		return out, err
	}
	out.Profile = got.YAML
	if in.Output == "" || in.DryRun {
		return out, nil
	}
	w := fileops.WriteFile{Path: fileops.Path(in.Output), Content: got.YAML}
	if !in.Replace {
		w.Expect = fileops.Absent
	}
	written, step, err := file[fileops.Written](ctx, c, &w)
	out.Wrote, out.Step = written.Written, step
	return out, err
}
