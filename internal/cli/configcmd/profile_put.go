package configcmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/profile"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// saveFlags are what put and import share.
type saveFlags struct {
	name, permissions    string
	replace, dry, asJSON bool
}

func (f *saveFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace a profile of that name")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "check everything and say what would be done, and write nothing")
	cmd.Flags().StringVar(&f.permissions, "permissions", "", "ceiling file: the most that may be granted")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print as JSON")
	cmdline.NotEmpty(cmd, "permissions")
}

func profilePutCommand(env *cmdenv.Env) *cobra.Command {
	f := &saveFlags{}
	cmd := &cobra.Command{
		Use:   "put [flags] NAME FILE",
		Short: "Save a profile from a file or standard input",
		Long: `Checks FILE as carrel profile validate does, and against the ceiling, and saves it
as it stands, comments too. "-" is standard input. Values of variables come by the
file alone, never by an argument that other users could see. A profile that exists
is replaced with --replace only.
` + cmdline.PlainStatus,
		Example: `  carrel profile put dev dev.yaml
  carrel profile template project-dev | carrel profile put dev -
  carrel profile put dev dev.yaml --replace --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%q needs a NAME and a FILE, or - for standard input; got %d\nhint: %s", cmd.CommandPath(), len(args), cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return explain.Refused(env.Out, f.asJSON, putProfile(env, f, args[0], args[1]))
		},
	}
	f.register(cmd)
	return cmd
}

func putProfile(env *cmdenv.Env, f *saveFlags, name, file string) error {
	if err := profile.CheckName(name); err != nil {
		return err
	}
	data, err := readProfileFile(env, file)
	if err != nil {
		return err
	}
	p, err := profile.Parse(name, data, fileName(file))
	if err != nil {
		return err
	}
	return saveProfiles(env, f, []*profile.Profile{p}, []profile.Item{{Name: name, Text: data}}, nil)
}

// savedJSON is what put and import print of one profile.
type savedJSON struct {
	Name    string         `json:"name"`
	File    api.Text       `json:"file"`
	Action  string         `json:"action"` // create, replace
	Changed bool           `json:"changed"`
	Saved   bool           `json:"saved"`
	DryRun  bool           `json:"dry_run"`
	Lost    []profile.Loss `json:"lost,omitempty"`
}

// saveProfiles checks profiles against the ceiling and saves all or none.
func saveProfiles(env *cmdenv.Env, f *saveFlags, list []*profile.Profile, items []profile.Item, lost []profile.Loss) error {
	under, err := env.Ceilings(f.permissions)
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := decide.CheckProfile(p, decide.Request{Environ: env.Environ, Ceilings: under}); err != nil {
			return err
		}
	}
	saved, err := profile.Put(profileDir(env), items, f.replace, f.dry)
	if errors.Is(err, profile.ErrExists) {
		return fmt.Errorf("%w\nhint: --replace takes its place", err)
	}
	if err != nil {
		return err
	}
	var out []savedJSON
	for _, s := range saved {
		one := savedJSON{Name: s.Name, File: api.Text(s.File), Action: "create", Changed: !s.Same, Saved: !f.dry, DryRun: f.dry}
		if s.Replaced {
			one.Action = "replace"
		}
		for _, l := range lost {
			if l.Profile == s.Name {
				one.Lost = append(one.Lost, l)
			}
		}
		out = append(out, one)
	}
	if f.asJSON {
		return show.JSON(env.Out, out)
	}
	for _, l := range lost {
		fmt.Fprintf(env.Err, "carrel: not carried over: %s\n", show.OneLine(l.String()))
	}
	for _, s := range out {
		what := map[string]string{"create": "is saved in", "replace": "is replaced in"}[s.Action]
		if f.dry {
			what = map[string]string{"create": "would be saved in", "replace": "would be replaced in"}[s.Action]
		}
		fmt.Fprintf(env.Out, "profile %s %s %s\n", s.Name, what, show.OneLine(show.QuoteIf(string(s.File))))
	}
	return nil
}

func profileImportCommand(env *cmdenv.Env) *cobra.Command {
	f := &saveFlags{}
	cmd := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "Save exported profiles, or those of agent-workspace-linux",
		Long: `Saves what carrel profile export wrote, under the name of the file or --name. "-"
is standard input, which needs --name.

A profile of agent-workspace-linux (JSON with an id), or its whole profiles.json, is
carried over; what has no form here is listed on standard error, and by --json. A
key that is not known is an error: it may be a restriction.

Exit status:
  0    done
  1    done, and something was not carried over
  125  carrel refused or went wrong`,
		Example: `  carrel profile import dev.yaml
  carrel profile import ~/.config/agent-workspace-linux/profiles.json --dry-run
  carrel profile import --name review - <review.yaml`,
		Args: cmdline.OneArg("a FILE, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			return explain.Refused(env.Out, f.asJSON, importProfiles(env, f, args[0]))
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "the name that it gets")
	cmdline.NotEmpty(cmd, "name")
	return cmd
}

func importProfiles(env *cmdenv.Env, f *saveFlags, file string) error {
	data, err := readProfileFile(env, file)
	if err != nil {
		return err
	}
	if !profile.IsForeign(data) {
		name := f.name
		if name == "" && file == "-" {
			return errors.New("standard input has no name\nhint: give it one with --name")
		}
		if name == "" {
			base := filepath.Base(file)
			name = strings.TrimSuffix(base, filepath.Ext(base))
		}
		if err := profile.CheckName(name); err != nil {
			return fmt.Errorf("%w\nhint: --name gives another", err)
		}
		p, err := profile.Parse(name, data, fileName(file))
		if err != nil {
			return err
		}
		return saveProfiles(env, f, []*profile.Profile{p}, []profile.Item{{Name: name, Text: data}}, nil)
	}
	list, lost, err := profile.Foreign(data, fileName(file))
	if err != nil {
		return err
	}
	if f.name != "" {
		if len(list) != 1 {
			return fmt.Errorf("--name %q: %q holds %s, which have names of their own", f.name, fileName(file), show.Count(len(list), "profile", "profiles"))
		}
		for i := range lost {
			lost[i].Profile = f.name
		}
		list[0].Name = f.name
	}
	items, list, err := written(list, fileName(file))
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		env.Status = exitLost
	}
	return saveProfiles(env, f, list, items, lost)
}

// written gives profiles their text, and reads it as it will be read later.
func written(list []*profile.Profile, file string) ([]profile.Item, []*profile.Profile, error) {
	var items []profile.Item
	var out []*profile.Profile
	for _, p := range list {
		data, err := config.EncodeDefinition(&p.Definition)
		if err != nil {
			return nil, nil, err
		}
		again, err := profile.Parse(p.Name, data, file+", profile "+p.Name)
		if err != nil {
			return nil, nil, err
		}
		items, out = append(items, profile.Item{Name: p.Name, Text: data}), append(out, again)
	}
	return items, out, nil
}
