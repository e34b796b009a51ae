package cmdline

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns that a help text takes at most: what the narrowest
// usual terminal has.
const helpWidth = 80

// FlagGroup annotates a flag with the heading that help shows it under.
const FlagGroup = "carrel_group"

// Headings of flags in the order of help; a flag without a group comes after these.
const (
	FlagsCommon  = "Common flags"
	FlagsFiles   = "Files"
	FlagsNetwork = "Network"
	FlagsLimits  = "Limits and display"
	FlagsMachine = "Virtual machines"
	FlagsPolicy  = "Policy, agents and walls"
)

var flagHeadings = []string{FlagsCommon, FlagsFiles, FlagsNetwork, FlagsLimits, FlagsMachine, FlagsPolicy}

// Helps has a command and all below it print their help and usage by this package; bold
// makes a heading of a text that goes to a writer.
func Helps(root *cobra.Command, bold func(io.Writer, string) string) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		long := cmd.Long
		if long == "" {
			long = cmd.Short
		}
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "%s\n\n", Fill(long, helpWidth))
		writeUsage(out, cmd, func(s string) string { return bold(out, s) })
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		writeUsage(cmd.OutOrStderr(), cmd, func(s string) string { return s })
		return nil
	})
}

// writeUsage prints how a command is called: its line, examples, commands and flags.
func writeUsage(out io.Writer, cmd *cobra.Command, bold func(string) string) {
	head := func(title string) { fmt.Fprintf(out, "\n%s\n", bold(title+":")) }
	fmt.Fprintln(out, bold("Usage:"))
	if cmd.Runnable() {
		fmt.Fprintln(out, Fill("  "+cmd.UseLine(), helpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		head("Examples")
		fmt.Fprintln(out, cmd.Example)
	}
	writeCommands(out, cmd, head)
	for _, title := range append(flagHeadings, "") {
		list := flagsOf(cmd, title)
		if !list.HasAvailableFlags() {
			continue
		}
		switch {
		case title != "":
			head(title)
		case flagsOf(cmd, FlagsCommon).HasAvailableFlags():
			head("Other flags")
		default:
			head("Flags")
		}
		writeFlags(out, list)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n%s [command] --help says more about a command.\n", cmd.CommandPath())
	}
}

// writeCommands prints the commands below one, by their groups.
func writeCommands(out io.Writer, cmd *cobra.Command, head func(string)) {
	write := func(title, group string) {
		first := true
		for _, c := range cmd.Commands() {
			if c.GroupID != group || !c.IsAvailableCommand() && c.Name() != "help" {
				continue
			}
			if first {
				head(title)
				first = false
			}
			indent := c.NamePadding() + 3
			fmt.Fprintln(out, hang(fmt.Sprintf("  %-*s %s", indent-3, c.Name(), c.Short), indent, helpWidth))
		}
	}
	for _, g := range cmd.Groups() {
		write(strings.TrimSuffix(g.Title, ":"), g.ID)
	}
	write("Commands", "")
}

// flagsOf are the flags of a command under one heading.
func flagsOf(cmd *cobra.Command, title string) *pflag.FlagSet {
	list := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if group := f.Annotations[FlagGroup]; len(group) == 0 && title == "" || len(group) == 1 && group[0] == title {
			list.AddFlag(f)
		}
	})
	return list
}

// flagColumn is where the words about a flag begin.
const flagColumn = 26

// writeFlags prints flags with their values and words.
func writeFlags(out io.Writer, list *pflag.FlagSet) {
	list.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, words := pflag.UnquoteUsage(f)
		switch value {
		case "":
		case "int", "uint":
			value = " N"
		case "duration":
			value = " TIME"
		case "string":
			value = " VALUE"
		case "stringArray", "strings":
			value = " VALUE"
			words += " (repeatable)"
		default:
			value = " " + value
		}
		name := "      --" + f.Name
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand + ", --" + f.Name
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "[]" {
			words += " (default " + f.DefValue + ")"
		}
		line := name + value
		if utf8.RuneCountInString(line) > flagColumn-2 {
			fmt.Fprintln(out, line)
			line = ""
		}
		fmt.Fprintln(out, hang(fmt.Sprintf("%-*s%s", flagColumn, line, words), flagColumn, helpWidth))
	})
}

// Fill puts a text into lines of a width at most. A paragraph without an indent is filled
// anew where a line of it is too long. A line with an indent is a list's or a table's: its
// rest goes on below its last column.
func Fill(text string, width int) string {
	var out []string
	for _, paragraph := range strings.Split(strings.TrimSpace("\x00" + text)[1:], "\n\n") {
		lines := strings.Split(strings.TrimRight(paragraph, "\n"), "\n")
		for len(lines) > 0 {
			n := 0
			for n < len(lines) && isProse(lines[n]) {
				if n++; strings.HasSuffix(lines[n-1], ":") {
					break
				}
			}
			switch {
			case n == 0:
				out = append(out, hang(lines[0], columnOf(lines[0]), width))
				n = 1
			case tooLong(lines[:n], width):
				out = append(out, hang(strings.Join(lines[:n], " "), 0, width))
			default:
				out = append(out, lines[:n]...)
			}
			lines = lines[n:]
		}
		out = append(out, "")
	}
	return strings.Join(out[:len(out)-1], "\n")
}

func isProse(line string) bool {
	return line != "" && line[0] != ' ' && !strings.HasPrefix(line, "- ")
}

func tooLong(lines []string, width int) bool {
	for _, l := range lines {
		if utf8.RuneCountInString(l) > width {
			return true
		}
	}
	return false
}

// columnOf is where the rest of a long line goes on: below the text behind the last gap of
// two spaces, or two columns to the right of its indent.
func columnOf(line string) int {
	body := strings.TrimLeft(line, " ")
	indent := len(line) - len(body)
	if at := strings.Index(body, "  "); at >= 0 {
		rest := strings.TrimLeft(body[at:], " ")
		if column := len(line) - len(rest); column < helpWidth/2 {
			return column
		}
	}
	return indent + 2
}

// hang breaks a line between words; what follows stands behind an indent.
func hang(line string, indent, width int) string {
	var b strings.Builder
	for utf8.RuneCountInString(line) > width {
		at := -1
		for i, n := 0, 0; i < len(line) && (n <= width || at < 0); n++ {
			_, size := utf8.DecodeRuneInString(line[i:])
			if line[i] == ' ' && n > indent && strings.TrimSpace(line[:i]) != "" {
				at = i
			}
			i += size
		}
		if at < 0 {
			break // one word
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n")
		line = strings.Repeat(" ", indent) + strings.TrimLeft(line[at:], " ")
	}
	return b.String() + line
}
