package explain

import (
	"errors"
	"fmt"
	"io"

	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/show"
)

// refusedJSON is a refusal for programs, as explain --json prints it where run would
// refuse.
type refusedJSON struct {
	Error    api.Text      `json:"error"`
	Denial   *denialJSON   `json:"denial,omitempty"`
	Refusals []refusalJSON `json:"refusals,omitempty"`
}

// denialJSON is a denial that was not recorded: it has no time and no run.
type denialJSON struct {
	Code      string   `json:"code"`
	Message   api.Text `json:"message"`
	Operation string   `json:"operation"`
	Subject   api.Text `json:"subject"`
	Rule      api.Text `json:"rule"`
	Source    api.Text `json:"source"`
	Hint      api.Text `json:"hint,omitempty"`
}

type refusalJSON struct {
	Dimension policy.Dimension `json:"dimension"`
	Requested api.Text         `json:"requested"`
	Allowed   api.Text         `json:"allowed"`
	Asked     Source           `json:"asked_by"`
	Ceiling   Source           `json:"ceiling"`
}

// Refused prints a refusal as JSON where that was asked for; the message and the exit
// status are the same either way.
func Refused(to io.Writer, asJSON bool, err error) error {
	if !asJSON || err == nil {
		return err
	}
	if jsonErr := show.JSON(to, refusalOf(err)); jsonErr != nil {
		return fmt.Errorf("%w; %w", err, jsonErr)
	}
	return err
}

// refusalOf gives an error as JSON, with the denial or the refusals that it is made of.
func refusalOf(err error) *refusedJSON {
	out := &refusedJSON{Error: api.Text(err.Error())}
	var d *api.Denial
	if errors.As(err, &d) {
		out.Denial = &denialJSON{Code: d.Code, Message: api.Text(d.Message), Operation: d.Operation, Subject: api.Text(d.Subject),
			Rule: api.Text(d.Rule), Source: api.Text(d.Source), Hint: api.Text(d.Hint)}
	}
	for _, r := range policy.Refusals(err) {
		out.Refusals = append(out.Refusals, refusalJSON{
			Dimension: r.Dimension, Requested: api.Text(r.Requested), Allowed: api.Text(r.Allowed),
			Asked: SourceOf(r.Asked), Ceiling: SourceOf(r.Source),
		})
	}
	return out
}
