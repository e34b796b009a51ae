package explain

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/show"
)

// Ceilings is what permissions show prints, and what a server tells its clients.
// Configured says that the session has a ceiling, Restricted that it, or the operator's,
// limits anything.
type Ceilings struct {
	Configured bool       `json:"configured"`
	Restricted bool       `json:"restricted"`
	Source     api.Text   `json:"source,omitempty"`
	Hash       string     `json:"hash,omitempty"`
	Expires    string     `json:"expires,omitempty"`
	Expired    bool       `json:"expired"`
	All        []Ceiling  `json:"ceilings"` // each of them holds
	Advisories []Advisory `json:"advisories"`
	Warnings   []Warning  `json:"warnings"`
}

// Ceiling is one of Ceilings.
type Ceiling struct {
	Source      api.Text           `json:"source"`
	Operator    bool               `json:"operator,omitempty"`
	Hash        string             `json:"hash"`
	Permissions policy.Permissions `json:"permissions"`
	Dimensions  []Limit            `json:"dimensions"`
}

// Limit is what a ceiling allows in one dimension, and where that stands.
type Limit struct {
	Dimension string   `json:"dimension"`
	Value     api.Text `json:"value"`
	Limited   bool     `json:"limited"`
	Where     api.Text `json:"where,omitempty"`
}

// Advisory is something that is right, and may not mean what it looks like.
type Advisory struct {
	Dimension string   `json:"dimension,omitempty"`
	Subject   api.Text `json:"subject,omitempty"`
	Message   api.Text `json:"message"`
	Where     api.Text `json:"where"`
}

// CeilingsOf describes ceilings that hold together, with the operator's of layers. home is
// the user's.
func CeilingsOf(under []config.CeilingText, layers []policy.Layer, home string) (*Ceilings, error) {
	session, warnings, err := config.DecodeCeilings(under)
	if err != nil {
		return nil, err
	}
	s := &Ceilings{Configured: len(under) > 0, Hash: config.CeilingHash(session), All: []Ceiling{}, Advisories: []Advisory{}, Warnings: show.NotNil(WarningsOf(warnings))}
	all := ceilings.Under{Session: session}
	var names []string
	for i, c := range session.All() {
		names = append(names, under[i].Source)
		s.add(c, under[i].Source, false, surroundings(home, under[i].Source))
	}
	s.Source = api.Text(strings.Join(names, ", "))
	for _, l := range layers {
		if l.Ceiling != nil {
			all.Operator = append(all.Operator, l.Ceiling)
			s.add(l.Ceiling, l.Name, true, surroundings(home, l.Name))
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
func surroundings(home, file string) policy.Surroundings {
	around := policy.Surroundings{Home: home}
	if filepath.IsAbs(file) {
		around.File = file
		if real, err := filepath.EvalSymlinks(file); err == nil {
			around.File = real
		}
	}
	return around
}

func (s *Ceilings) add(c *policy.Ceiling, from string, operator bool, around policy.Surroundings) {
	one := *c
	one.Also = nil
	shown := Ceiling{Source: api.Text(from), Operator: operator, Hash: config.CeilingHash(&one), Permissions: one.Permissions(), Dimensions: []Limit{}}
	for _, l := range one.Limits() {
		limit := Limit{Dimension: string(l.Dimension), Value: api.Text(l.Value), Limited: l.Limited}
		if l.Limited {
			limit.Where = api.Text(l.Source.String())
		}
		shown.Dimensions = append(shown.Dimensions, limit)
	}
	s.All = append(s.All, shown)
	for _, adv := range one.Advice(around) {
		s.Advisories = append(s.Advisories, Advisory{Dimension: string(adv.Dimension), Subject: api.Text(adv.Subject), Message: api.Text(adv.Message), Where: api.Text(adv.Source.String())})
	}
}

// Print shows each ceiling with its dimensions, and the advice.
func (s *Ceilings) Print(to io.Writer) {
	if len(s.All) == 0 {
		fmt.Fprintln(to, "no ceiling is in force: what is asked for is decided by the configuration alone")
		return
	}
	for _, c := range s.All {
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
	if len(s.All) > 1 && s.Hash != "" && s.Hash != s.All[0].Hash {
		fmt.Fprintf(to, "hash of what holds together  %s\n", s.Hash)
	}
	if s.Expired {
		fmt.Fprintf(to, "expired: nothing is started since %s\n", s.Expires)
	}
	s.PrintAdvice(to)
}

// PrintAdvice shows what a person should know of the ceilings.
func (s *Ceilings) PrintAdvice(to io.Writer) {
	for _, w := range s.Warnings {
		fmt.Fprintf(to, "warning: %s: %s\n", show.OneLine(string(w.Where)), show.OneLine(string(w.Message)))
	}
	for _, adv := range s.Advisories {
		fmt.Fprintf(to, "advice: %s: %s\n", show.OneLine(string(adv.Where)), show.OneLine(string(adv.Message)))
	}
}
