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

type readOut struct{ fileops.FileContent }

// content is the text itself, or the picture.
func (o readOut) content() []sdk.Content {
	if o.Encoding == fileops.Base64 && strings.HasPrefix(o.Kind, "image/") && !o.Truncated {
		if data, err := base64.StdEncoding.DecodeString(o.FileContent.Content); err == nil {
			return []sdk.Content{&sdk.ImageContent{Data: data, MIMEType: o.Kind}}
		}
	}
	text := o.FileContent.Content
	if o.Truncated {
		text += fmt.Sprintf("\n[cut: %d lines, %d bytes in all; go on with offset %d or byte_offset %d]", o.Lines, o.Size, o.NextOffset, o.NextByteOffset)
	}
	return []sdk.Content{&sdk.TextContent{Text: text}}
}

func readFile(ctx context.Context, c *call, in fileops.ReadFile) (readOut, error) {
	out, _, err := file[fileops.FileContent](ctx, c, &in)
	return readOut{out}, err
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

type editOut struct {
	fileops.Edited
	Step uint64 `json:"step_id,omitempty"`
}

func editFile(ctx context.Context, c *call, in fileops.EditFile) (editOut, error) {
	out, step, err := file[fileops.Edited](ctx, c, &in)
	return editOut{out, step}, err
}

func listDirectory(ctx context.Context, c *call, in fileops.ListDirectory) (fileops.Listing, error) {
	out, _, err := file[fileops.Listing](ctx, c, &in)
	return out, err
}

func globFiles(ctx context.Context, c *call, in fileops.Glob) (fileops.Found, error) {
	out, _, err := file[fileops.Found](ctx, c, &in)
	return out, err
}

func grepFiles(ctx context.Context, c *call, in fileops.Grep) (fileops.Matches, error) {
	out, _, err := file[fileops.Matches](ctx, c, &in)
	return out, err
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
	Output   string   `json:"output"`
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
		text += fmt.Sprintf("\n[%d bytes are left out; app_log of %s has them]", o.LeftOut, o.App)
	}
	return []sdk.Content{&sdk.TextContent{Text: text}}
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
	req := tools.BashRequest{Command: in.Command, Dir: c.server.opts.Project, Env: in.Env, Timeout: time.Duration(in.Timeout) * time.Millisecond, Background: in.Background}
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
		out.Output, out.LeftOut = r.Output.String(), r.Output.Left
	}
	return out, nil
}

// maxProgress bounds a line of progress, in bytes.
const maxProgress = 200

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(b), "\uFFFD"), "\n"), "\n")
	last := lines[len(lines)-1]
	return last[:min(len(last), maxProgress)]
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
	history, err := undoHistory(ctx, c, historyIn{Last: mostEvents})
	for _, step := range history.Steps {
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
