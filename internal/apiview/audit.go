package apiview

import (
	"carrel/internal/api"
	"carrel/internal/show"
	"fmt"
	"io"
	"strings"
)

// PrintAuditResult says whether a log holds, and what is in it.
func PrintAuditResult(w io.Writer, name string, r api.AuditResult) {
	t := &show.Table{}
	if r.OK {
		fmt.Fprintf(w, "%s: %s, and each goes on from the one before\n", show.OneLine(name), show.Count(int(r.Records), "record", "records"))
	} else {
		fmt.Fprintf(w, "%s: BROKEN at record %d: %s\n", show.OneLine(name), r.Broken.Record, show.OneLine(r.Broken.Why))
		if r.Broken.Line > 0 {
			t.Row("where", fmt.Sprintf("%s, line %d", r.Broken.File, r.Broken.Line))
		}
		t.Row("before it", show.Count(int(r.Records), "record holds", "records hold"))
	}
	if r.Records > 0 {
		t.Row("first", fmt.Sprint(r.First), r.From.Local().Format(show.Stamp))
		t.Row("last", fmt.Sprint(r.Last), r.To.Local().Format(show.Stamp))
		t.Row("head", r.Head)
	}
	for _, n := range r.Notes {
		t.Row("note", n)
	}
	t.Print(w, "  ")
}

// PrintAuditRecord shows one on a line; every byte of it is escaped.
func PrintAuditRecord(w io.Writer, r *api.AuditRecord) {
	who := r.Who.Kind
	if r.Who.PID != 0 {
		who += fmt.Sprintf(" %d", r.Who.PID)
	}
	words := []string{fmt.Sprintf("%4d  %s  %-9s  %-8s  %-16s", r.Seq, r.Time.Local().Format(show.Stamp), show.OneLine(r.Kind), show.OneLine(show.Dash(r.Decision)), show.OneLine(who))}
	if r.Operation != "" {
		words = append(words, show.OneLine(r.Operation))
	}
	if r.Subject != "" {
		words = append(words, show.OneLine(show.QuoteIf(show.Shorten(r.Subject, 2*show.ColumnMax))))
	}
	for _, one := range [][2]string{{"rule", r.Rule}, {"app", r.App}} {
		if one[1] != "" {
			words = append(words, "["+one[0]+" "+show.OneLine(show.Shorten(one[1], show.ColumnMax))+"]")
		}
	}
	if r.Step != 0 {
		words = append(words, fmt.Sprintf("[step %d]", r.Step))
	}
	if r.Detail != "" {
		words = append(words, "("+show.OneLine(show.Shorten(r.Detail, 2*show.ColumnMax))+")")
	}
	fmt.Fprintln(w, strings.TrimRight(strings.Join(words, " "), " "))
}
