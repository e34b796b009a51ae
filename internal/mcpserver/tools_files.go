package mcpserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// file carries a request of a file tool out in the workspace.
func file[Out any](ctx context.Context, c *call, req fileops.Request) (out Out, step uint64, err error) {
	e, err := c.desk(ctx, "")
	if err != nil {
		return out, 0, err
	}
	answer, step, err := tools.Files(ctx, e, c.server.opts.Project, req)
	if err != nil {
		return out, step, err
	}
	given, ok := answer.(*Out)
	if !ok {
		return out, step, fmt.Errorf("the answer is a %T", answer)
	}
	return *given, step, nil
}

type readIn struct {
	fileops.ReadFile
	Numbers *bool `json:"line_numbers,omitempty" jsonschema:"each line after its number and a tab, which are no part of it; true by default"`
}

type readOut struct {
	fileops.FileContent
	Hidden string `json:"content,omitempty"` // always empty: the content is what is shown

	shows []sdk.Content
}

func (o readOut) content() []sdk.Content { return o.shows }

func readFile(ctx context.Context, c *call, in readIn) (readOut, error) {
	got, _, err := file[fileops.FileContent](ctx, c, &in.ReadFile)
	if picture := strings.HasPrefix(got.Kind, "image/"); err == nil && picture && got.Truncated && in.MaxBytes == 0 &&
		in.Offset+in.Limit+in.ByteOffset == 0 {
		in.MaxBytes = fileops.MaxRead
		got, _, err = file[fileops.FileContent](ctx, c, &in.ReadFile)
	}
	out := readOut{FileContent: got}
	if err != nil {
		return out, err
	}
	if got.Encoding == fileops.Base64 && strings.HasPrefix(got.Kind, "image/") && !got.Truncated {
		if data, err := base64.StdEncoding.DecodeString(got.Content); err == nil {
			out.shows = []sdk.Content{&sdk.ImageContent{Data: data, MIMEType: got.Kind}}
			return out, nil
		}
	}
	out.shows = textOf(out.text(max(in.MaxBytes, mostText), in.Numbers == nil || *in.Numbers))
	return out, nil
}

// text is as much of the content as an answer takes, and what to ask for the rest.
func (o *readOut) text(most int, numbers bool) string {
	f := &o.FileContent
	if f.Encoding == fileops.Base64 {
		data, err := base64.StdEncoding.DecodeString(f.Content)
		if part := most / 4 * 3; err == nil && len(data) > part {
			f.Truncated, f.NextOffset, f.NextByteOffset = true, 0, f.NextByteOffset-int64(len(data)-part)
			if f.NextByteOffset <= 0 {
				f.NextByteOffset = int64(part)
			}
			data = data[:part]
		}
		return fmt.Sprintf("[%s of %d bytes, in base64]\n%s%s", f.Kind, f.Size, base64.StdEncoding.EncodeToString(data), o.rest())
	}
	shown, used, line := strings.Builder{}, 0, f.First
	for text := range strings.Lines(f.Content) {
		mark := ""
		if numbers && f.First > 0 {
			mark = fmt.Sprintf("%6d\t", line)
		}
		if room := most - shown.Len() - len(mark); len(text) > room || most == mostText && line == f.First+mostLines {
			if used == 0 { // a line that is longer than an answer
				text, _ = clip(text, room)
				shown.WriteString(mark + text)
				used = len(text)
			}
			break
		}
		shown.WriteString(mark + text)
		used, line = used+len(text), line+1
	}
	if left := int64(len(f.Content) - used); left > 0 {
		end := f.NextByteOffset
		if !f.Truncated {
			end = f.Size
		}
		f.Truncated, f.NextOffset, f.NextByteOffset = true, 0, end-left
		if f.First > 0 && line > f.First {
			f.NextOffset = line
		}
	}
	return shown.String() + o.rest()
}

// rest says how to go on where not all is shown.
func (o *readOut) rest() string {
	switch {
	case !o.Truncated:
		return ""
	case o.NextOffset > 0 && o.Lines >= 0:
		return fmt.Sprintf("\n[truncated: go on with offset %d; the file has %d lines, %d bytes]", o.NextOffset, o.Lines, o.Size)
	case o.NextOffset > 0:
		return fmt.Sprintf("\n[truncated: go on with offset %d; the file has %d bytes]", o.NextOffset, o.Size)
	}
	return fmt.Sprintf("\n[truncated: go on with byte_offset %d; the file has %d bytes]", o.NextByteOffset, o.Size)
}

type writeOut struct {
	fileops.Written
	Step    uint64 `json:"step_id,omitempty"` // of the history
	Private bool   `json:"private,omitempty"` // it is in the workspace alone, and goes with it
}

func writeFile(ctx context.Context, c *call, in fileops.WriteFile) (writeOut, error) {
	out, step, err := file[fileops.Written](ctx, c, &in)
	return writeOut{out, step, out.Written && step == 0 && !c.inProject(string(in.Path))}, err
}

// inProject says whether a path is one of the project, or of what else is kept, as it is
// written.
func (c *call) inProject(path string) bool {
	full := filepath.Clean(c.within(path)) + "/"
	return slices.ContainsFunc(append([]string{c.server.opts.Project}, c.server.opts.Roots...), func(root string) bool {
		return strings.HasPrefix(full, filepath.Clean(root)+"/")
	})
}

type editIn struct {
	Path   fileops.Path   `json:"path"`
	Old    string         `json:"old_string,omitempty" jsonschema:"what is there, once"`
	New    string         `json:"new_string,omitempty" jsonschema:"what takes its place; left out: nothing does"`
	All    bool           `json:"replace_all,omitempty" jsonschema:"wherever it is there"`
	Edits  []fileops.Edit `json:"edits,omitempty" jsonschema:"several, in place of old_string and new_string"`
	Expect string         `json:"expect,omitempty" jsonschema:"SHA-256 of the content that is edited"`
}

type editOut struct {
	fileops.Edited
	Hidden string `json:"diff,omitempty"` // always empty: the diff is what is shown
	Step   uint64 `json:"step_id,omitempty"`
}

func (o editOut) content() []sdk.Content {
	times := "1 replacement"
	if o.Replacements != 1 {
		times = fmt.Sprintf("%d replacements", o.Replacements)
	}
	text, left := clip(o.Diff, mostText)
	if left > 0 || o.DiffTruncated {
		text += "[truncated: the diff is longer; read_file shows what is there now]"
	}
	return textOf(fmt.Sprintf("[%s, step %d]\n%s", times, o.Step, text))
}

func editFile(ctx context.Context, c *call, in editIn) (editOut, error) {
	req := fileops.EditFile{Path: in.Path, Edit: fileops.Edit{Old: in.Old, New: in.New, All: in.All}, Edits: in.Edits, Expect: in.Expect}
	out, step, err := file[fileops.Edited](ctx, c, &req)
	return editOut{Edited: out, Step: step}, err
}

type listingOut struct {
	fileops.Listing
	Hidden []fileops.Entry `json:"entries,omitempty"` // always empty
}

// content is a line for each entry, directories with a slash behind them.
func (o listingOut) content() []sdk.Content {
	text, _ := joinLines(o.Entries, func(e fileops.Entry) string {
		switch e.Type {
		case fileops.TypeFile:
			return fmt.Sprintf("%s\t%d bytes", e.Name, e.Size)
		case fileops.TypeDir:
			return e.Name.String() + "/"
		case fileops.TypeSymlink:
			return fmt.Sprintf("%s -> %s", e.Name, e.Target)
		}
		return fmt.Sprintf("%s\t%s", e.Name, e.Type)
	})
	text += more(o.Truncated, o.NextOffset, o.Total, o.Incomplete)
	if o.HiddenLeft > 0 {
		text += fmt.Sprintf("[%d names that begin with a dot are left out; hidden: true shows them]\n", o.HiddenLeft)
	}
	return textOf(text)
}

// more says how to go on in a list.
func more(truncated bool, next, total int, why string) string {
	switch {
	case next > 0:
		return fmt.Sprintf("[truncated: go on with offset %d; there are %d]\n", next, total)
	case truncated && why != "":
		return fmt.Sprintf("[truncated: %s]\n", why)
	case total == 0:
		return "[nothing]\n"
	}
	return ""
}

func listDirectory(ctx context.Context, c *call, in fileops.ListDirectory) (listingOut, error) {
	out, _, err := file[fileops.Listing](ctx, c, &in)
	longest := func(e fileops.Entry) string { return e.Name.String() + e.Target.String() + entryRoom }
	if _, n := joinLines(out.Entries, longest); n < len(out.Entries) {
		out.Entries, out.Truncated, out.NextOffset = out.Entries[:n], true, in.Offset+n
	}
	return listingOut{Listing: out}, err
}

// entryRoom is as long as what a line of a list says beside names.
const entryRoom = " -> 18446744073709551615 bytes"

type foundOut struct {
	fileops.Found
	Hidden []fileops.Path `json:"paths,omitempty"` // always empty
}

// content is a path on each line.
func (o foundOut) content() []sdk.Content {
	text, _ := joinLines(o.Paths, fileops.Path.String)
	return textOf(text + more(o.Truncated, o.NextOffset, o.Total, o.Incomplete))
}

func globFiles(ctx context.Context, c *call, in fileops.Glob) (foundOut, error) {
	out, _, err := file[fileops.Found](ctx, c, &in)
	if _, n := joinLines(out.Paths, fileops.Path.String); n < len(out.Paths) {
		out.Paths, out.Truncated, out.NextOffset = out.Paths[:n], true, in.Offset+n
	}
	return foundOut{Found: out}, err
}

type grepOut struct {
	fileops.Matches
	Hidden []fileops.FileMatches `json:"files,omitempty"` // always empty
}

// content is as grep prints it: path, number and line; a path and a count; or paths.
func (o grepOut) content() []sdk.Content {
	var all []string
	for _, f := range o.Files {
		switch {
		case len(f.Lines) > 0:
			for _, l := range f.Lines {
				sign := ":"
				if !l.Match {
					sign = "-"
				}
				all = append(all, fmt.Sprintf("%s%s%d%s%s", f.Path, sign, l.Number, sign, l.Text))
			}
		case f.Count > 0:
			all = append(all, fmt.Sprintf("%s:%d", f.Path, f.Count))
		default:
			all = append(all, f.Path.String())
		}
	}
	text, n := joinLines(all, func(line string) string { return line })
	if n < len(all) || o.Truncated {
		text += fmt.Sprintf("[truncated: there is more than these %d lines; narrow it by path, include or pattern%s]\n", n,
			behind("; ", o.Incomplete))
	}
	if len(all) == 0 {
		text += "[nothing matches]\n"
	}
	if o.TooLarge > 0 {
		text += fmt.Sprintf("[%d files are too large to match over lines]\n", o.TooLarge)
	}
	return textOf(text)
}

// behind is a text with what stands before it, nothing where it is empty.
func behind(sign, text string) string {
	if text == "" {
		return ""
	}
	return sign + text
}

func grepFiles(ctx context.Context, c *call, in fileops.Grep) (grepOut, error) {
	out, _, err := file[fileops.Matches](ctx, c, &in)
	return grepOut{Matches: out}, err
}

type bashIn struct {
	Command     string   `json:"command" jsonschema:"for /bin/bash -c"`
	Description string   `json:"description,omitempty" jsonschema:"what it is for"`
	Timeout     int      `json:"timeout,omitempty" jsonschema:"milliseconds; 120000 by default, at most 3600000"`
	Background  bool     `json:"run_in_background,omitempty" jsonschema:"it goes on alone; app_log, app_wait and app_kill take its app_id"`
	Cwd         string   `json:"cwd,omitempty" jsonschema:"directory; the project by default"`
	Env         []string `json:"env,omitempty" jsonschema:"each as NAME=VALUE"`
}

type bashOut struct {
	App      string   `json:"app_id"` // its whole output is app_log's
	ExitCode int      `json:"exit_code"`
	Signal   string   `json:"signal,omitempty"`
	Output   string   `json:"-"`
	Begins   int      `json:"-"`                        // bytes of the output before what is left out
	LeftOut  int64    `json:"bytes_left_out,omitempty"` // in the middle
	TimedOut bool     `json:"timed_out,omitempty"`
	Running  bool     `json:"running,omitempty"`
	Dir      string   `json:"working_directory"`
	Steps    []uint64 `json:"step_ids"`
}

func (o bashOut) content() []sdk.Content {
	text := o.Output
	switch {
	case o.Running:
		text += fmt.Sprintf("[it runs as app %s]", o.App)
	case o.TimedOut:
		text += "\n[its time was over, and it was ended]"
	case o.Signal != "":
		text += "\n[ended by " + o.Signal + "]"
	case o.ExitCode != 0:
		text += fmt.Sprintf("\n[status %d]", o.ExitCode)
	}
	if o.LeftOut > 0 {
		text += fmt.Sprintf("\n[truncated: %d bytes are left out; app_log with app %s, stream stdout and since %d has them]",
			o.LeftOut, o.App, o.Begins)
	}
	return textOf(text)
}

// show takes as many lines of the beginning and of the end as clients show.
func (o *bashOut) show(from *tools.Output) {
	o.Output, o.LeftOut, o.Begins = from.String(), from.Left, len(from.Head)
	if strings.Count(o.Output, "\n") <= mostLines {
		return
	}
	head, tail := string(from.Head), string(from.Tail)
	if from.Left == 0 {
		head += tail
		tail = head[lineStart(head, mostLines/2):]
	}
	head = head[:lineStart(head, mostLines/2)]
	tail = tail[lineStart(tail, max(strings.Count(tail, "\n")-mostLines/2, 0)):]
	o.LeftOut += int64(len(from.Head) + len(from.Tail) - len(head) - len(tail))
	o.Output, o.Begins = fmt.Sprintf("%s\n... %d bytes are left out here ...\n%s", head, o.LeftOut, tail), len(head)
}

// progressEvery is how often the client hears of new output.
const progressEvery = 200 * time.Millisecond

func bash(ctx context.Context, c *call, in bashIn) (bashOut, error) {
	if in.Timeout < 0 || time.Duration(in.Timeout)*time.Millisecond > tools.MaxTimeout {
		return bashOut{}, c.tool.badArguments("timeout", fmt.Sprintf("timeout is 0 to %d milliseconds", tools.MaxTimeout.Milliseconds()))
	}
	if strings.TrimSpace(in.Command) == "" {
		return bashOut{}, c.tool.badArguments("command", "command is empty")
	}
	e, err := c.desk(ctx, "")
	if err != nil {
		return bashOut{}, err
	}
	req := tools.BashRequest{Command: in.Command, Dir: c.server.opts.Project, Env: in.Env,
		Timeout: time.Duration(in.Timeout) * time.Millisecond, Background: in.Background, Output: mostText}
	if in.Cwd != "" {
		req.Dir = filepath.Clean(c.within(in.Cwd))
	}
	told, heard := time.Time{}, 0
	req.Progress = func(piece []byte) {
		if heard += len(piece); time.Since(told) >= progressEvery {
			told = time.Now()
			c.progress(ctx, float64(heard), lastLine(piece))
		}
	}
	r, err := tools.Bash(ctx, e, req)
	if err != nil {
		return bashOut{}, err
	}
	out := bashOut{App: r.App.ID, ExitCode: r.App.Exit, Signal: r.App.Signal, TimedOut: r.TimedOut, Running: r.App.Running, Dir: r.App.Dir, Steps: append([]uint64{}, r.App.Steps...)}
	if r.Output != nil {
		out.show(r.Output)
	}
	return out, nil
}

// maxProgress bounds a line of progress, in bytes.
const maxProgress = 200

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(b), "\uFFFD"), "\n"), "\n")
	last, _ := clip(lines[len(lines)-1], maxProgress)
	return last
}

type statusNow struct {
	Workspace string               `json:"workspace"`
	Running   bool                 `json:"running"`
	Project   string               `json:"project"`
	Steps     int                  `json:"undo_steps"` // that can be taken back
	Waiting   int                  `json:"approvals_waiting"`
	Status    *api.WorkspaceStatus `json:"status,omitempty"`
}

func sessionStatus(ctx context.Context, c *call, _ struct{}) (statusNow, error) {
	out := statusNow{Workspace: c.server.opts.Workspace, Project: c.server.opts.Project}
	status, err := workspaceStatus(ctx, c, statusIn{})
	if err != nil {
		return out, err
	}
	if out.Running, out.Status = status.Running, status.Status; out.Status != nil {
		out.Waiting = out.Status.Pending
	}
	steps, err := c.steps(ctx, historyIn{}, mostEvents)
	for _, step := range steps {
		if step["state"] == "done" {
			out.Steps++
		}
	}
	return out, err
}

type directories struct {
	Working string   `json:"working_directory"`
	All     []string `json:"all_working_directories"`
}

func workingDirectory(_ context.Context, c *call, _ struct{}) (directories, error) {
	p := c.server.opts.Project
	return directories{Working: p, All: append([]string{p}, c.server.opts.Roots...)}, nil
}
