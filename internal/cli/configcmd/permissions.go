package configcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/explain"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func permissionsCommand(env *cmdenv.Env) *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:   "permissions",
		Short: "Write, check, show and compare ceilings",
		Long: `A ceiling is a file that says the most that any workspace may be given: network,
directories, programs, display, history, until when. The person or program that
starts carrel names it, before any command or in a variable:

  carrel --permissions ceiling.json start dev
  CARREL_PERMISSIONS=ceiling.json carrel start dev

(AGENT_WORKSPACE_PERMISSIONS is an older name of the variable.) The file is read
once. What a workspace was started under holds for as long as it runs, for every
request, from wherever it comes.
` + cmdline.PlainStatus,
		Example: `  carrel permissions template local --allow-host localhost:3000 \
    --mount ~/shop:/workspace:rw >ceiling.json
  carrel permissions validate ceiling.json
  carrel --permissions ceiling.json permissions show
  carrel permissions diff old.json ceiling.json`,
	}, permissionsTemplateCommand(env), permissionsValidateCommand(env), permissionsShowCommand(env), permissionsDiffCommand(env))
}

// templateNetworks are the kinds of a template, and the words for them.
var templateNetworks = map[string]string{
	"open": "", "inherit_host": "", "closed": "disabled", "disabled": "disabled", "local": "local_only", "local-only": "local_only", "local_only": "local_only",
}

type ceilingTemplate struct {
	hosts, mounts, apps []string
}

func permissionsTemplateCommand(env *cmdenv.Env) *cobra.Command {
	t := &ceilingTemplate{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "template [flags] open|closed|local",
		Short: "Print a ceiling to begin with",
		Long: `Prints a ceiling as JSON, to be changed and saved:

  open    (inherit_host) no limit of the network
  closed  (disabled) no network
  local   (local-only, local_only) a localhost of the workspace's own, and the ports of
          this machine that --allow-host names, as localhost:3000

What is not given is no limit: a ceiling without --mount limits no directory, one
without --app no program. The output is the same with --json.
` + cmdline.PlainStatus,
		Example: `  carrel permissions template closed
  carrel permissions template local --allow-host localhost:3000 \
    --app /usr/bin/firefox
  carrel permissions template open --mount ~/shop:/workspace/shop:rw \
    --mount ~/docs:/docs`,
		Args:      cmdline.OneArg("a kind: open, closed or local"),
		ValidArgs: []string{"open", "closed", "local"},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := t.write(args[0])
			if err != nil {
				return explain.Refused(env.Out, asJSON, err)
			}
			_, err = env.Out.Write(text)
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&t.hosts, "allow-host", nil, "with local: a port of this machine that may be reached, as localhost:3000")
	fs.StringArrayVar(&t.mounts, "mount", nil, "a directory that may be visible: HOST:WORKSPACE, with :rw where it may be changed")
	fs.StringArrayVar(&t.apps, "app", nil, "a program that may be started: an absolute path, or a name")
	fs.BoolVar(&asJSON, "json", false, "the same; the output is JSON anyway")
	cmdline.NotEmpty(cmd, "allow-host", "mount", "app")
	cmdline.CompleteFlag(cmd, "allow-host", cobra.NoFileCompletions)
	return cmd
}

// write gives the file, which is checked as any other is.
func (t *ceilingTemplate) write(kind string) ([]byte, error) {
	mode, ok := templateNetworks[kind]
	if !ok {
		return nil, fmt.Errorf("%q is no kind of ceiling\nhint: there are open, closed (disabled) and local (local-only, local_only)", kind)
	}
	if len(t.hosts) > 0 && mode != "local_only" {
		return nil, fmt.Errorf("--allow-host %q: a ceiling that is %s lists no host\nhint: carrel permissions template local --allow-host %s", t.hosts[0], kind, t.hosts[0])
	}
	var p policy.Permissions
	if mode != "" {
		p.Network = &policy.NetworkPermissions{Mode: policy.NetworkMode(mode), AllowHosts: t.hosts}
	}
	for _, text := range t.mounts {
		m, err := parseMount(text)
		if err != nil {
			return nil, err
		}
		p.Mounts = append(p.Mounts, m)
	}
	if len(t.apps) > 0 {
		p.Apps = &policy.AppPermissions{Allow: t.apps}
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	_, _, err = config.DecodeCeilings([]config.CeilingText{{Source: "template " + kind, Content: text}})
	return append(text, '\n'), err
}

// parseMount reads HOST:WORKSPACE[:MODE].
func parseMount(text string) (m policy.MountPermission, err error) {
	parts := strings.Split(text, ":")
	m.Mode = "read_only"
	if len(parts) == 3 {
		switch parts[2] {
		case "ro", "read_only":
		case "rw", "read_write":
			m.Mode = "read_write"
		default:
			return m, fmt.Errorf("--mount %q: %q is not one of ro, rw, read_only, read_write", text, parts[2])
		}
		parts = parts[:2]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return m, fmt.Errorf("--mount %q: want HOST:WORKSPACE or HOST:WORKSPACE:rw", text)
	}
	for _, p := range parts {
		if !filepath.IsAbs(p) {
			return m, fmt.Errorf("--mount %q: %q is not an absolute path", text, p)
		}
		for part := range strings.SplitSeq(p, "/") {
			if part == ".." {
				return m, fmt.Errorf("--mount %q: %q goes up by .., so that what it means depends on links", text, p)
			}
		}
	}
	m.HostPath, m.WorkspacePath = filepath.Clean(parts[0]), filepath.Clean(parts[1])
	return m, nil
}

func permissionsValidateCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [flags] FILE",
		Short: "Report every mistake in a ceiling, and what it does not do",
		Long: `Reports each mistake of a ceiling as FILE:LINE:COLUMN: message, and, where there are
none, its hash and what a person should know of it. --json FILE prints that as JSON.

Exit status:
  0    no mistakes; advice does not count
  125  there are mistakes, or the file cannot be read`,
		Example: `  carrel permissions validate ceiling.json
  carrel permissions validate --json ceiling.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%q takes one FILE, got %d\nhint: %s", cmd.CommandPath(), len(args), cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return validateCeiling(env, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return cmd
}

func validateCeiling(env *cmdenv.Env, file string, asJSON bool) error {
	text, err := readCeilingFile(file)
	var shown *explain.Ceilings
	if err == nil {
		shown, err = explain.CeilingsOf([]config.CeilingText{text}, nil, env.Getenv("HOME"))
	}
	found := &findings{Checked: []string{file}}
	problems := config.ProblemsOf(err)
	if err != nil && problems == nil {
		return err
	}
	found.add(problems...)
	if asJSON {
		out := validatedJSON{Valid: len(problems) == 0, Problems: show.NotNil(found.Problems), Ceilings: shown}
		if err := show.JSON(env.Out, out); err != nil {
			return err
		}
	} else {
		for _, p := range found.Problems {
			fmt.Fprintln(env.Out, show.OneLine(p.line))
		}
		if shown != nil {
			fmt.Fprintf(env.Out, "%s: ok\nhash  %s\n", show.OneLine(show.QuoteIf(file)), shown.Hash)
			shown.PrintAdvice(env.Out)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s in the ceiling", show.Count(len(problems), "mistake", "mistakes"))
	}
	return nil
}

type validatedJSON struct {
	Valid    bool          `json:"valid"`
	Problems []problemJSON `json:"problems"`
	*explain.Ceilings
}

// readCeilingFile reads a file that an argument names.
func readCeilingFile(file string) (config.CeilingText, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return config.CeilingText{}, errors.Join(fmt.Errorf("finding %q", file), err)
	}
	return config.ReadCeiling(full)
}
