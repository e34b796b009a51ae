package apiview

import (
	"carrel/internal/api"
	"carrel/internal/show"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// PrintDenials lists refusals, with the project of each where they are of several.
func PrintDenials(w io.Writer, list []api.Denial, project bool) {
	for i, d := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", d.Time.Local().Format(show.Stamp), show.OneLine(d.Message))
		t := &show.Table{}
		t.Row("what", d.Operation+" "+show.QuoteIf(d.Subject))
		t.Row("rule", ruleText(d))
		if d.Hint != "" {
			t.Row("hint", d.Hint)
		}
		t.Row("run", d.Workspace+", "+d.Code)
		if project {
			t.Row("project", show.QuoteIf(d.Project))
		}
		t.Print(w, "  ")
	}
}

// ruleText is the rule of a denial with its place.
func ruleText(d api.Denial) string {
	if d.Source == "" || strings.Contains(d.Rule, d.Source) {
		return d.Rule
	}
	return d.Rule + " (" + d.Source + ")"
}

// PrintLinks lists links that programs inside wanted opened.
func PrintLinks(w io.Writer, list []api.Link) {
	t := &show.Table{}
	for _, l := range list {
		state := "shown"
		if l.Opened {
			state = "opened"
		}
		if l.Callback != 0 {
			state += fmt.Sprintf(", way back to port %d", l.Callback)
		}
		t.Row(l.Time.Local().Format(show.Stamp), state, l.URL)
	}
	t.Print(w, "")
}

// ConnectionText is one connection on a line.
func ConnectionText(c api.Connection) string {
	where := c.Host
	if c.Port != 0 {
		where = net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	}
	if c.Method != "" {
		where = c.Method + " " + where
	}
	words := []string{c.Time.Local().Format(show.Stamp), fmt.Sprintf("%-8s", c.Decision), c.Protocol, where}
	if c.Process != "" {
		words = append(words, fmt.Sprintf("by %s (%d)", c.Process, c.PID))
	}
	if c.Decision != "refused" {
		words = append(words, fmt.Sprintf("%d bytes out, %d in, %s", c.Sent, c.Received, c.Duration.Round(time.Millisecond)))
	}
	switch {
	case c.Reason != "":
		words = append(words, c.Reason)
	case c.Rule != "":
		words = append(words, ruleText(api.Denial{Rule: c.Rule, Source: c.Source}))
	}
	return strings.Join(words, "  ")
}

// PrintApproval shows one operation; every byte of it is escaped.
func PrintApproval(w io.Writer, one api.Approval) {
	state := "waits until " + one.Deadline.Local().Format(time.TimeOnly)
	if one.Answer != "" {
		state = one.Answer
	}
	fmt.Fprintf(w, "%s  %s\n", show.OneLine(one.ID), show.OneLine(state))
	t := &show.Table{}
	t.Row("what", one.Operation+" "+show.QuoteIf(one.Subject))
	if one.Reason != "" {
		t.Row("why", one.Reason)
	}
	if one.Rule != "" {
		t.Row("rule", ruleText(api.Denial{Rule: one.Rule, Source: one.Source}))
	}
	if one.Hint != "" {
		t.Row("hint", one.Hint)
	}
	if len(one.Scopes) > 0 {
		t.Row("or for", strings.Join(one.Scopes, ", "))
	}
	t.Row("run", one.Workspace)
	if one.Project != "" {
		t.Row("project", show.QuoteIf(one.Project))
	}
	t.Print(w, "  ")
}

// EventText is one event of a workspace on a line.
func EventText(e api.Event) string {
	text := e.Text
	if e.Denial != nil {
		text = e.Denial.Message
	}
	if e.Approval != nil {
		text = e.Approval.ID + " " + e.Approval.Operation + " " + e.Approval.Subject
	}
	return fmt.Sprintf("%6d  %s  %-18s %s", e.Seq, e.Time.Local().Format(show.Stamp), e.Kind, show.OneLine(text))
}
