package mcpserver

import (
	"context"
	"fmt"
	"unicode/utf8"

	"carrel/internal/fileops"
	"carrel/internal/op"
	"carrel/internal/op/profileop"
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
	if err := op.NoZeroBytes("profile", in.ID, in.Kind, in.Project, in.Browser, in.DataDir); err != nil {
		return out, err
	}
	who := s.opts.Caller
	switch in.Action {
	case "list":
		out.Profiles = []map[string]any{}
		return out, answer(ctx, "profile list", &out.Profiles, func() ([]profileop.Listed, error) { return profileop.List(who) })
	case "get", "check":
		if err := needs("id", in.ID); err != nil {
			return out, err
		}
		if in.Action == "check" {
			return out, answer(ctx, "profile check", &out.Profile, func() (*profileop.Checked, error) { return profileop.Check(who, in.ID) })
		}
		return out, answer(ctx, "profile show", &out.Profile, func() (*profileop.Shown, error) { return profileop.Show(who, in.ID, false) })
	case "template":
		if err := needs("kind", in.Kind); err != nil {
			return out, err
		}
		t := profileop.TemplateRequest{Kind: in.Kind, Project: c.within(in.Project), Browser: in.Browser, DataDir: in.DataDir}
		return out, answer(ctx, "profile template", &out.Profile, func() (*profileop.Written, error) { return profileop.Template(who, t) })
	case "validate":
		if err := needs("profile", in.YAML); err != nil {
			return out, err
		}
		checked, err := op.Call(ctx, func() ([]profileop.Saved, error) {
			return profileop.Put(who, profileop.SaveRequest{Name: "checked", Text: []byte(in.YAML), From: fromClient, Replace: true, DryRun: true})
		})
		if err == nil && len(checked) > 0 {
			err = op.Into("profile put", checked[0], &out.Profile)
		}
		return out, err
	case "path":
		var err error
		out.Path, err = profileop.Path(who, "")
		return out, op.ForProgram(err)
	}
	return out, nil
}

// fromClient is what messages call a profile that is an argument.
const fromClient = "standard input"

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
	if err := op.NoZeroBytes("profile", in.ID); err != nil {
		return out, err
	}
	who := c.server.opts.Caller
	save := profileop.SaveRequest{Name: in.ID, Text: []byte(in.YAML), From: fromClient, Replace: in.Replace, DryRun: in.DryRun}
	switch in.Action {
	case "put", "import":
		if in.YAML == "" {
			return out, c.tool.badArguments("profile", in.Action+" needs profile: the text of it")
		}
		return out, answer(ctx, "profile "+in.Action, &out.Done, func() (saved []profileop.Saved, err error) {
			if in.Action == "import" {
				saved, _, err = profileop.Import(who, save)
				return saved, err
			}
			return profileop.Put(who, save)
		})
	case "delete":
		return out, answer(ctx, "profile delete", &out.Delete, func() (profileop.Deleted, error) { return profileop.Delete(who, in.ID, in.DryRun) })
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
	if err := op.NoZeroBytes("profile", in.ID); err != nil {
		return out, err
	}
	got, err := op.Call(ctx, func() (profileop.Exported, error) { return profileop.Export(c.server.opts.Caller, in.ID) })
	if err != nil {
		return out, err
	}
	if out.Profile = string(got.Text); !utf8.ValidString(out.Profile) {
		return out, fmt.Errorf("the profile %q is no text: it is not UTF-8", in.ID)
	}
	if in.Output == "" || in.DryRun {
		return out, nil
	}
	w := fileops.WriteFile{Path: fileops.Path(in.Output), Content: out.Profile}
	if !in.Replace {
		w.Expect = fileops.Absent
	}
	written, step, err := file[fileops.Written](ctx, c, &w)
	out.Wrote, out.Step = written.Written, step
	return out, err
}
