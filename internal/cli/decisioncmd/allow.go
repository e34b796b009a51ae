package decisioncmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// allowFlags say what is allowed, or what becomes of what was.
type allowFlags struct {
	project              string
	read, write, env     []string
	list, remove, asJSON bool
}

func allowCommand(env *cmdenv.Env) *cobra.Command {
	f := &allowFlags{}
	cmd := &cobra.Command{
		Use:   "allow [HOST...] [flags]",
		Short: "Allow hosts, files or variables in one project, from now on",
		Long: `Writes what is allowed in this project, and in no other, into your own configuration:
hosts, each NAME, *.NAME, **.NAME, address or range with an optional :port; files and
directories by --read and --write, also a secret of the project such as .env; variables
by --env. It holds from the next start. Ceilings still hold, and the project's own file
cannot undo it or add to it. carrel explain names each with its line in the file.

It takes a person at a terminal, who types the project's name. What an agent has
started is refused. --remove takes away what was allowed, without a question.
` + cmdline.PlainStatus,
		Example: `  carrel allow registry.npmjs.org:443
  carrel allow --read .env --env DATABASE_URL
  carrel allow --list
  carrel allow --remove registry.npmjs.org:443`,
		RunE: func(_ *cobra.Command, args []string) error { return f.run(env, args) },
	}
	cmd.Flags().StringVar(&f.project, "project", "", "the project of this directory instead of the current one; with --list also all")
	cmd.Flags().StringArrayVar(&f.read, "read", nil, "a file or directory that can be read")
	cmd.Flags().StringArrayVar(&f.write, "write", nil, "a file or directory that can be read and changed")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "a variable, or pattern of names, that is passed from outside")
	cmd.Flags().BoolVarP(&f.list, "list", "l", false, "list what is allowed in the project")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "take away what is named, instead of allowing it")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "with --list, print as JSON, one list")
	cmdline.OneOf(cmd, "list", "remove")
	cmdline.NotEmpty(cmd, "project", "read", "write", "env")
	return cmd
}

func (f *allowFlags) run(env *cmdenv.Env, hosts []string) error {
	u, err := env.Caller().Session()
	if err != nil {
		return err
	}
	if u.Session.Restricted() {
		return &api.Denial{Code: api.CodeCeiling, Operation: "allow", Subject: "allow", Rule: "ceiling", Source: u.Hash(),
			Message: "ceiling: what allow writes outlives the ceiling that holds here",
			Hint:    "run it without a ceiling"}
	}
	file, err := userFile(env)
	if err != nil {
		return err
	}
	dir, all := f.project, f.list && f.project == "all"
	if all {
		dir = ""
	} else if dir != "" {
		if dir, err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	project, err := env.Caller().ProjectOf(dir)
	if err != nil {
		return err
	}
	if f.list {
		if len(hosts)+len(f.read)+len(f.write)+len(f.env) > 0 {
			return errors.New("--list takes nothing that is allowed; leave it out to allow, or write --remove")
		}
		if all {
			project = ""
		}
		return listAllowed(env, project, f.asJSON)
	}
	g, err := f.grants(hosts, project)
	if err != nil {
		return err
	}
	if f.remove {
		return disallow(env, file, project, g)
	}
	if err := personAllowsFor(env, project, g); err != nil {
		return err
	}
	if err := config.AddGrants(file, project, g); err != nil {
		return err
	}
	tellGrants(env, g, "allowed", project)
	fmt.Fprintf(env.Out, "it is in %s; `carrel allow --list` lists it, --remove takes it away\n", show.OneLine(show.QuoteIf(file)))
	return nil
}

// grants are what is named, as it is written into the configuration.
func (f *allowFlags) grants(hosts []string, project string) (config.Grants, error) {
	g := config.Grants{Hosts: hosts, Env: f.env}
	for _, h := range hosts {
		if err := policy.CheckHostRule(h, true); err != nil {
			return g, err
		}
	}
	for _, name := range f.env {
		if strings.Contains(name, "=") {
			return g, fmt.Errorf("--env %q: want the name alone: its value is passed from outside", name)
		}
	}
	var err error
	if g.Read, err = placesIn(project, f.read); err == nil {
		g.Write, err = placesIn(project, f.write)
	}
	if err == nil && len(hosts)+len(f.read)+len(f.write)+len(f.env) == 0 {
		err = errors.New("want a host, --read PATH, --write PATH or --env NAME; `carrel allow --list` lists what is allowed")
	}
	return g, err
}

// saveForProject writes what a supervisor has allowed for a project.
func saveForProject(env *cmdenv.Env, project, host string) error {
	file, err := userFile(env)
	if err != nil {
		return err
	}
	g := config.Grants{Hosts: []string{host}}
	if err := config.AddGrants(file, project, g); err != nil {
		return err
	}
	tellGrants(env, g, "allowed", project)
	return nil
}

// placesIn makes paths of the command line places of the configuration: what lies in
// the project is relative to it, and the rest is absolute.
func placesIn(project string, paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if inProject, ok := strings.CutPrefix(p, ":project/"); ok {
			p = filepath.Join(project, inProject)
		}
		if strings.HasPrefix(p, ":") || p == "~" || strings.HasPrefix(p, "~/") {
			out = append(out, p)
			continue
		}
		at, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(project, at); err == nil && filepath.IsLocal(rel) {
			if at = rel; strings.HasPrefix(rel, ":") || strings.HasPrefix(rel, "~") {
				at = ":project/" + rel
			}
		}
		out = append(out, at)
	}
	return out, nil
}

// personAllowsFor wants the project's name typed by a person.
func personAllowsFor(env *cmdenv.Env, project string, g config.Grants) error {
	refuse := func(why *api.Denial) error {
		why.Operation, why.Message = "allow", "only a person at a terminal may allow more in a project: "+why.Subject
		why.Hint = "type `carrel allow` yourself, in a terminal of your own outside the workspace"
		return why
	}
	if why := env.Caller().ByAgent(); why != nil {
		return refuse(why)
	}
	t := &show.Table{}
	for _, one := range words(g) {
		t.Row(one.what, show.QuoteIf(one.value))
	}
	t.Row("project", show.QuoteIf(project))
	var text strings.Builder
	t.Print(&text, "  ")
	word := show.TypedName(project)
	fmt.Fprintf(&text, "Type %s, the project's name, to allow this from now on, anything else to leave it: ", word)
	typed, err := supervisor.Confirm(text.String(), word)
	var why *api.Denial
	if errors.As(err, &why) {
		return refuse(why)
	}
	if err == nil && !typed {
		err = errors.New("that is not its name; nothing was changed")
	}
	return err
}

// disallow takes grants away.
func disallow(env *cmdenv.Env, file, project string, g config.Grants) error {
	missing, err := config.RemoveGrants(file, project, g)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is not allowed in %s by your configuration\nhint: `carrel allow --list` lists what is",
			show.QuoteIf(missing[0]), show.QuoteIf(project))
	}
	tellGrants(env, g, "no longer allowed", project)
	return nil
}

func tellGrants(env *cmdenv.Env, g config.Grants, done, project string) {
	for _, one := range words(g) {
		fmt.Fprintf(env.Out, "%s %s is %s in %s\n", one.what, show.OneLine(show.QuoteIf(one.value)), done, show.OneLine(show.QuoteIf(project)))
	}
}

// allowed is one thing that is allowed in a project.
type allowed struct {
	Project api.Text `json:"project"`
	What    string   `json:"what"` // "host", "read", "write" or "variable"
	Value   api.Text `json:"value"`
	Source  api.Text `json:"source,omitempty"`
}

type word struct{ what, value string }

// words are grants in the words of a person.
func words(g config.Grants) []word {
	var out []word
	add := func(what string, list []string) {
		for _, v := range list {
			out = append(out, word{what, v})
		}
	}
	add("host", g.Hosts)
	add("read", g.Read)
	add("write", g.Write)
	add("variable", g.Env)
	return out
}

// listAllowed lists what is allowed in a project, or in all where it is "".
func listAllowed(env *cmdenv.Env, project string, asJSON bool) error {
	sections, err := config.ProjectSections(env.ConfigOptions())
	if err != nil {
		return err
	}
	list := []allowed{}
	for _, s := range sections {
		if project != "" && s.Path != project {
			continue
		}
		add := func(what, value string, src policy.Source) {
			list = append(list, allowed{api.Text(s.Path), what, api.Text(strings.TrimPrefix(value, ":project/")), api.Text(src.String())})
		}
		for _, h := range s.Request.AllowHosts {
			add("host", h.V, h.Source)
		}
		for _, r := range s.Request.Files {
			if r.Access == policy.Read && !r.Glob {
				add("read", r.Place, r.Source)
			} else if r.Access == policy.Write {
				add("write", r.Place, r.Source)
			}
		}
		for _, v := range s.Request.EnvPass {
			add("variable", v.V, v.Source)
		}
	}
	if asJSON {
		return show.JSON(env.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "nothing is allowed for a project alone")
		return nil
	}
	t := &show.Table{}
	t.Row("WHAT", "VALUE", "PROJECT", "WRITTEN IN")
	for _, one := range list {
		t.Row(one.What, show.QuoteIf(string(one.Value)), show.QuoteIf(string(one.Project)), show.QuoteIf(string(one.Source)))
	}
	t.Print(env.Out, "")
	return nil
}
