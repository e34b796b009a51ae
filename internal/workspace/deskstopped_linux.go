package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/api"
)

// StoppedEvents gives the events of a workspace of which nothing runs, those after a
// number.
func StoppedEvents(state, name string, since uint64, each func(api.Event) error) error {
	dir, err := openDesk(state, name, false)
	if err != nil {
		return noDesk(name, err)
	}
	defer dir.Close()
	if err := eachEvent(dir, since, each); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the events of %q: %w", name, err)
	}
	return nil
}

// StoppedLogs gives what an app of such a workspace has written. word is the app's id,
// its beginning, or its name.
func StoppedLogs(ctx context.Context, state, name, word string, req api.Request, each func(*api.Output) error) error {
	dir, err := openDesk(state, name, false)
	if err != nil {
		return noDesk(name, err)
	}
	defer dir.Close()
	m, err := readDesk(dir)
	if err != nil {
		return fmt.Errorf("reading the manifest of %q: %w", name, err)
	}
	id := ""
	for _, a := range m.Apps {
		if a.ID == word || a.Name == word || strings.HasPrefix(a.ID, word) && id == "" {
			id = a.ID
		}
	}
	if id == "" {
		return api.Refused(api.CodeNoApp, api.OpLogs, word, fmt.Sprintf("there was no app %.64q", word), "`carrel apps "+name+"` lists them")
	}
	for _, stream := range []string{api.StreamStdout, api.StreamStderr} {
		if req.Stream != "" && req.Stream != stream {
			continue
		}
		err := sendLog(ctx, dir, logName(id, stream), stream, &req, nil, each)
		if errors.Is(err, os.ErrNotExist) {
			return api.Refused(api.CodeNoApp, api.OpLogs, id, fmt.Sprintf("the output of app %s was not kept", id), "`carrel launch` keeps it")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ProjectOf is the project that a directory belongs to; "" means the working one.
func ProjectOf(cwd string, getenv func(string) string) (string, error) {
	p, err := findPlace(cwd, getenv("HOME"))
	return filepath.Clean(p.project), err
}

// ForDesk completes what was prepared for a workspace that stays, so that it can be
// compared with one that runs.
func (p *Prepared) ForDesk() error {
	if err := p.PreviewEngine(); err != nil {
		return err
	}
	if p.history() {
		var err error
		if p.state, err = openState(StatePath(p.getenv)); err != nil {
			return err
		}
		if p.historyAt, err = p.historyDir(false); err != nil {
			return err
		}
	}
	return p.Compile(false)
}
