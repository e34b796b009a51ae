package configcmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

var kindWords = []string{"user", "project", "operator", "ceiling", "profile"}

func configCommand(env *cmdenv.Env) *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:   "config",
		Short: "Check, describe or show the configuration",
		Long: `The configuration is YAML in up to four files: the operator's
(/etc/carrel/config.yaml), a ceiling (--permissions FILE or CARREL_PERMISSIONS),
yours (~/.config/carrel/config.yaml) and the project's (.carrel.yaml or
.carrel/config.yaml), which may only tighten.
` + cmdline.PlainStatus,
		Example: `  carrel config check
  carrel config schema --kind project
  carrel config show`,
	}, configCheckCommand(env), configSchemaCommand(env), configShowCommand(env))
}

func configCheckCommand(env *cmdenv.Env) *cobra.Command {
	var kind, permissions string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [flags] [FILE...]",
		Short: "Report every mistake in the configuration",
		Long: `Reports each mistake as FILE:LINE:COLUMN: message. Without FILE every file that
carrel run would read here is checked, and the CARREL_ variables too. What kind a
FILE is follows from its name (.carrel.yaml is a project's, anything else the
user's) unless --kind says it.

Exit status:
  0    no mistakes; warnings do not count
  125  there are mistakes, or a file cannot be read`,
		Example: `  carrel config check
  carrel config check .carrel.yaml
  carrel config check --kind ceiling permissions.json`,
		RunE: func(_ *cobra.Command, files []string) error {
			found := &findings{}
			if len(files) == 0 {
				if kind != "" {
					return fmt.Errorf("--kind says what kind FILE is, and no FILE is given\nhint: carrel config check --kind %s FILE", kind)
				}
				checkAll(env, found, permissions)
			} else if err := checkFiles(found, files, kind); err != nil {
				return err
			}
			return reportFindings(env, found, asJSON)
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "what FILE is: "+strings.Join(kindWords, ", "))
	cmd.Flags().StringVar(&permissions, "permissions", "", "ceiling file to check with the others")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the mistakes as JSON")
	cmdline.CompleteFlag(cmd, "kind", cobra.FixedCompletions(kindWords, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func configSchemaCommand(env *cmdenv.Env) *cobra.Command {
	kind := "user"
	cmd := &cobra.Command{
		Use:   "schema [flags]",
		Short: "Print the JSON Schema of a configuration file",
		Long: `Prints the JSON Schema (draft 2020-12) of one kind of file. An editor with a
YAML language server takes it for completion and checks:

  # yaml-language-server: $schema=/path/to/schema.json
` + cmdline.PlainStatus,
		Example: `  carrel config schema > schema.json
  carrel config schema --kind ceiling`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			k, err := kindOf(kind)
			if err != nil {
				return err
			}
			_, err = env.Out.Write(config.SchemaOf(k))
			return err
		},
	}
	cmd.Flags().StringVar(&kind, "kind", kind, "which file: "+strings.Join(kindWords, ", "))
	cmdline.CompleteFlag(cmd, "kind", cobra.FixedCompletions(kindWords, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func kindOf(word string) (config.Kind, error) {
	for _, k := range []config.Kind{config.KindUser, config.KindProject, config.KindOperator, config.KindCeiling, config.KindProfile} {
		if k.String() == word {
			return k, nil
		}
	}
	return 0, fmt.Errorf("--kind %q is not one of %s", word, strings.Join(kindWords, ", "))
}

// findings are what a check found.
type findings struct {
	Checked  []string          `json:"-"`
	Files    []api.Text        `json:"checked"`
	Problems []problemJSON     `json:"problems"`
	Warnings []explain.Warning `json:"warnings"`
}

type problemJSON struct {
	File    api.Text `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Column  int      `json:"column,omitempty"`
	Key     api.Text `json:"key,omitempty"`
	Message api.Text `json:"message"`
	line    string   // as a person reads it
}

func (f *findings) add(problems ...config.Problem) {
	for _, p := range problems {
		f.Problems = append(f.Problems, problemJSON{File: api.Text(p.File), Line: p.Line, Column: p.Column,
			Key: api.Text(p.Key), Message: api.Text(p.Message), line: p.Error()})
	}
}

// addMounts adds what is wrong with mounts on this machine.
func (f *findings) addMounts(problems []config.Problem, err error) {
	f.add(problems...)
	if err != nil {
		f.add(config.Problem{Message: err.Error()})
	}
}

// checkAll reads what a run would read here.
func checkAll(env *cmdenv.Env, f *findings, permissions string) {
	under, err := env.Ceilings(permissions)
	var loaded *config.Loaded
	if err == nil {
		loaded, _, err = decide.ReadSettings(decide.Request{Environ: env.Environ, Ceilings: under})
	}
	switch problems := config.ProblemsOf(err); {
	case len(problems) > 0:
		f.add(problems...)
	case err != nil:
		f.add(config.Problem{Message: err.Error()})
	default:
		f.addMounts(decide.CheckMounts(decide.Request{Environ: env.Environ, Ceilings: under}))
		f.Warnings = explain.WarningsOf(loaded.Warnings)
		for _, file := range loaded.Files {
			if file.Present {
				f.Checked = append(f.Checked, file.Path)
			}
		}
	}
}

func checkFiles(f *findings, files []string, word string) error {
	for _, file := range files {
		kind := kindByName(file)
		if word != "" {
			var err error
			if kind, err = kindOf(word); err != nil {
				return err
			}
		}
		problems, warnings := config.Check(file, kind)
		f.add(problems...)
		f.Warnings = append(f.Warnings, explain.WarningsOf(warnings)...)
		f.Checked = append(f.Checked, file)
	}
	return nil
}

// kindByName tells a file's kind from where it is looked for.
func kindByName(file string) config.Kind {
	abs, err := filepath.Abs(file)
	if err != nil {
		abs = file
	}
	dir, base := filepath.Split(abs)
	switch {
	case base == ".carrel.yaml", base == "config.yaml" && filepath.Base(dir) == ".carrel":
		return config.KindProject
	case abs == "/etc/carrel/config.yaml":
		return config.KindOperator
	}
	return config.KindUser
}

func reportFindings(env *cmdenv.Env, f *findings, asJSON bool) error {
	if asJSON {
		f.Files, f.Problems, f.Warnings = show.Texts(f.Checked), show.NotNil(f.Problems), show.NotNil(f.Warnings)
		if err := show.JSON(env.Out, f); err != nil {
			return err
		}
	} else {
		printFindings(env, f)
	}
	if len(f.Problems) > 0 {
		return fmt.Errorf("%s in the configuration", show.Count(len(f.Problems), "mistake", "mistakes"))
	}
	return nil
}

func printFindings(env *cmdenv.Env, f *findings) {
	for _, p := range f.Problems {
		fmt.Fprintln(env.Out, show.OneLine(p.line))
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(env.Out, "%s: warning: %s\n", show.OneLine(string(w.Where)), show.OneLine(string(w.Message)))
	}
	if len(f.Problems) > 0 {
		return
	}
	for _, file := range f.Checked {
		fmt.Fprintf(env.Out, "%s: ok\n", show.OneLine(show.QuoteIf(file)))
	}
	if len(f.Checked) == 0 {
		fmt.Fprintln(env.Out, "no configuration file exists; carrel config show says where they are looked for")
	}
}
