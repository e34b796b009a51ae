package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/explain"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

// shownCeilings is what permissions show prints. Configured says that the session has a
// ceiling, Restricted that it, or the operator's, limits anything.
type shownCeilings struct {
	Configured bool              `json:"configured"`
	Restricted bool              `json:"restricted"`
	Source     api.Text          `json:"source,omitempty"`
	Hash       string            `json:"hash,omitempty"`
	Expires    string            `json:"expires,omitempty"`
	Expired    bool              `json:"expired"`
	Ceilings   []shownCeiling    `json:"ceilings"` // all of them hold
	Advisories []advisory        `json:"advisories"`
	Warnings   []explain.Warning `json:"warnings"`
}

// shownCeiling is one of them.
type shownCeiling struct {
	Source      api.Text           `json:"source"`
	Operator    bool               `json:"operator,omitempty"`
	Hash        string             `json:"hash"`
	Permissions policy.Permissions `json:"permissions"`
	Dimensions  []shownLimit       `json:"dimensions"`
}

type shownLimit struct {
	Dimension string   `json:"dimension"`
	Value     api.Text `json:"value"`
	Limited   bool     `json:"limited"`
	Where     api.Text `json:"where,omitempty"`
}

// advisory is something that is right, and may not mean what it looks like.
type advisory struct {
	Dimension string   `json:"dimension,omitempty"`
	Subject   api.Text `json:"subject,omitempty"`
	Message   api.Text `json:"message"`
	Where     api.Text `json:"where"`
}

func (a *app) permissionsShowCommand() *cobra.Command {
	var permissions string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [flags]",
		Short: "Show the ceiling that is in force here",
		Long: `Shows what holds a command that is started here: the ceiling of --permissions or of
a variable, what was handed on by whoever started this, and the operator's. For each
dimension what it allows and where that stands, and what a person should know of it.
` + cmdline.PlainStatus,
		Example: `  carrel permissions show
  carrel --permissions ceiling.json permissions show --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			under, err := a.Ceilings(permissions)
			if err != nil {
				return err
			}
			loaded, _, err := workspace.ReadSettings(workspace.Request{Environ: a.Environ, Ceilings: under})
			if err != nil {
				return err
			}
			shown, err := a.shownOf(under, loaded.Layers)
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(a.Out, shown)
			}
			shown.print(a.Out)
			return nil
		},
	}
	cmd.Flags().StringVar(&permissions, "permissions", "", "ceiling file to show")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmdline.NotEmpty(cmd, "permissions")
	return cmd
}

// shownOf describes ceilings that hold together, with the operator's of layers.
func (a *app) shownOf(under []config.CeilingText, layers []policy.Layer) (*shownCeilings, error) {
	session, warnings, err := config.DecodeCeilings(under)
	if err != nil {
		return nil, err
	}
	s := &shownCeilings{Configured: len(under) > 0, Hash: config.CeilingHash(session), Ceilings: []shownCeiling{}, Advisories: []advisory{}, Warnings: show.NotNil(explain.WarningsOf(warnings))}
	all := workspace.UnderCeilings{Session: session}
	var names []string
	for i, c := range session.All() {
		names = append(names, under[i].Source)
		s.add(c, under[i].Source, false, a.surroundings(under[i].Source))
	}
	s.Source = api.Text(strings.Join(names, ", "))
	for _, l := range layers {
		if l.Ceiling != nil {
			all.Operator = append(all.Operator, l.Ceiling)
			s.add(l.Ceiling, l.Name, true, a.surroundings(l.Name))
		}
	}
	for _, c := range all.All() {
		s.Restricted = s.Restricted || c.Restricted()
	}
	if ends := policy.Ends(all.All()); ends != nil {
		s.Expires, s.Expired = ends.V.Format(time.RFC3339), !time.Now().Before(ends.V)
	}
	return s, nil
}

// surroundings are what advice has to know of this machine.
func (a *app) surroundings(file string) policy.Surroundings {
	around := policy.Surroundings{Home: a.Getenv("HOME")}
	if filepath.IsAbs(file) {
		around.File = file
		if real, err := filepath.EvalSymlinks(file); err == nil {
			around.File = real
		}
	}
	return around
}

func (s *shownCeilings) add(c *policy.Ceiling, from string, operator bool, around policy.Surroundings) {
	one := *c
	one.Also = nil
	shown := shownCeiling{Source: api.Text(from), Operator: operator, Hash: config.CeilingHash(&one), Permissions: one.Permissions(), Dimensions: []shownLimit{}}
	for _, l := range one.Limits() {
		limit := shownLimit{Dimension: string(l.Dimension), Value: api.Text(l.Value), Limited: l.Limited}
		if l.Limited {
			limit.Where = api.Text(l.Source.String())
		}
		shown.Dimensions = append(shown.Dimensions, limit)
	}
	s.Ceilings = append(s.Ceilings, shown)
	for _, adv := range one.Advice(around) {
		s.Advisories = append(s.Advisories, advisory{Dimension: string(adv.Dimension), Subject: api.Text(adv.Subject), Message: api.Text(adv.Message), Where: api.Text(adv.Source.String())})
	}
}

func (s *shownCeilings) print(to io.Writer) {
	if len(s.Ceilings) == 0 {
		fmt.Fprintln(to, "no ceiling is in force: what is asked for is decided by the configuration alone")
		return
	}
	for _, c := range s.Ceilings {
		who := ""
		if c.Operator {
			who = ", of the operator"
		}
		fmt.Fprintf(to, "%s%s\nhash  %s\n", show.OneLine(show.QuoteIf(string(c.Source))), who, c.Hash)
		t := &show.Table{}
		for _, l := range c.Dimensions {
			t.Row(l.Dimension, show.OneLine(string(l.Value)), show.OneLine(string(l.Where)))
		}
		t.Print(to, "  ")
	}
	if len(s.Ceilings) > 1 && s.Hash != "" && s.Hash != s.Ceilings[0].Hash {
		fmt.Fprintf(to, "hash of what holds together  %s\n", s.Hash)
	}
	if s.Expired {
		fmt.Fprintf(to, "expired: nothing is started since %s\n", s.Expires)
	}
	s.printAdvice(to)
}

func (s *shownCeilings) printAdvice(to io.Writer) {
	for _, w := range s.Warnings {
		fmt.Fprintf(to, "warning: %s: %s\n", show.OneLine(string(w.Where)), show.OneLine(string(w.Message)))
	}
	for _, adv := range s.Advisories {
		fmt.Fprintf(to, "advice: %s: %s\n", show.OneLine(string(adv.Where)), show.OneLine(string(adv.Message)))
	}
}

func (a *app) permissionsDiffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Say what one ceiling allows more and less than another",
		Long: `Says for each dimension what the ceiling B allows more (+) and less (-) than A. It
compares what they mean, not how they are written.
` + cmdline.PlainStatus,
		Example: `  carrel permissions diff old.json new.json
  carrel permissions diff --json old.json new.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%q takes two files, got %d: %q\nhint: %s", cmd.CommandPath(), len(args), args, cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.diffCeilings(args[0], args[1], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// comparedJSON is what permissions diff --json prints.
type comparedJSON struct {
	Same    bool          `json:"same"`
	From    string        `json:"from_hash"`
	To      string        `json:"to_hash"`
	Changes []changedJSON `json:"changes"`
}

type changedJSON struct {
	Dimension string     `json:"dimension"`
	From      api.Text   `json:"from"`
	To        api.Text   `json:"to"`
	More      []api.Text `json:"more"`
	Less      []api.Text `json:"less"`
}

func (a *app) diffCeilings(from, to string, asJSON bool) error {
	var both [2]*policy.Ceiling
	for i, file := range []string{from, to} {
		content, err := readCeilingFile(file)
		if err == nil {
			both[i], _, err = config.DecodeCeilings([]config.CeilingText{content})
		}
		if err != nil {
			return a.explainRefusal(asJSON, err)
		}
	}
	out := comparedJSON{From: config.CeilingHash(both[0]), To: config.CeilingHash(both[1]), Changes: []changedJSON{}}
	out.Same = out.From == out.To
	for _, c := range policy.DiffCeilings(both[0], both[1]) {
		out.Changes = append(out.Changes, changedJSON{string(c.Dimension), api.Text(c.From), api.Text(c.To), show.NotNil(show.Texts(c.More)), show.NotNil(show.Texts(c.Less))})
	}
	if asJSON {
		return show.JSON(a.Out, out)
	}
	for _, c := range out.Changes {
		fmt.Fprintf(a.Out, "%s: %s -> %s\n", c.Dimension, show.OneLine(string(c.From)), show.OneLine(string(c.To)))
		for _, more := range c.More {
			fmt.Fprintf(a.Out, "  + %s\n", show.OneLine(string(more)))
		}
		for _, less := range c.Less {
			fmt.Fprintf(a.Out, "  - %s\n", show.OneLine(string(less)))
		}
	}
	if len(out.Changes) == 0 {
		fmt.Fprintln(a.Out, "both allow the same")
	}
	return nil
}
