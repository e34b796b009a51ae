package named

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"carrel/internal/api"
	"carrel/internal/audit"
	"carrel/internal/spool"

	"golang.org/x/sys/unix"
)

// OwnLog has what this process says go to the workspace's own log from now on.
func (p *Place) OwnLog() error {
	fd, err := unix.Openat(int(p.dir.Fd()), logFile, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("opening the supervisor's log: %w", err)
	}
	defer unix.Close(fd)
	return errors.Join(unix.Dup3(fd, 1, 0), unix.Dup3(fd, 2, 0))
}

// OpenEvents opens the log of events for writing.
func (p *Place) OpenEvents() (*spool.Lines, error) {
	return spool.CreateLines(p.dir, eventsFile, maxEventsFile)
}

// Events reads the events after a number that were written down.
func (p *Place) Events(since uint64, each func(api.Event) error) error {
	return eachEvent(p.dir, since, each)
}

// OpenAudit opens the audit log for writing. lost is told when records begin to be lost.
func (p *Place) OpenAudit(lost func(error)) (*audit.Log, error) {
	return audit.Create(p.dir, maxAuditFile, lost)
}

// CreateLog opens what an app writes to one stream.
func (p *Place) CreateLog(app, stream string) (*spool.Log, error) {
	return spool.Create(p.dir, logName(app, stream), maxAppLog)
}

// RemoveLog removes it.
func (p *Place) RemoveLog(app, stream string) {
	for _, end := range []string{"", ".1"} {
		_ = unix.Unlinkat(int(p.dir.Fd()), logName(app, stream)+end, 0)
	}
}

// SendLog hands out what an app had written to one stream when it was asked for: a
// program that writes faster than this reads would make it endless. With a writer and
// Follow it goes on until the writer has closed it or ctx ends.
func (p *Place) SendLog(ctx context.Context, app, stream string, req *api.Request, writer *spool.Log, send func(*api.Output) error) error {
	return sendLog(ctx, p.dir, app, stream, req, writer, send)
}

func sendLog(ctx context.Context, dir *os.File, app, stream string, req *api.Request, writer *spool.Log, send func(*api.Output) error) error {
	r, err := spool.Open(dir, logName(app, stream))
	if err != nil {
		return err
	}
	at, end := int64(req.Since), r.End()
	if req.Tail > 0 {
		at = max(at, end-req.Tail)
	}
	buf := make([]byte, logPiece)
	for req.Follow || at < end {
		piece := buf
		if !req.Follow {
			piece = buf[:min(logPiece, end-at)]
		}
		n, next, err := r.ReadAt(piece, at)
		if err != nil {
			return err
		}
		if n > 0 {
			if err := send(&api.Output{Stream: stream, At: uint64(next - int64(n)), Data: buf[:n], Lost: uint64(next - int64(n) - at)}); err != nil {
				return nil // the caller has gone
			}
			at = next
			continue
		}
		if at = next; !req.Follow || writer == nil {
			return nil
		}
		if err := writer.Wait(ctx, at); err != nil || ctx.Err() != nil || writer.End() <= at {
			return nil
		}
	}
	return nil
}

// logPiece bounds one piece of output, in bytes.
const logPiece = 32 << 10

func logName(id, stream string) string { return id + "." + stream }

func eachEvent(dir *os.File, since uint64, each func(api.Event) error) error {
	return spool.ReadLines(dir, eventsFile, since, func(_ uint64, line []byte) error {
		var e api.Event
		if json.Unmarshal(line, &e) != nil {
			return nil
		}
		return each(e)
	})
}

// Events gives the events of a workspace of which nothing runs, those after a
// number.
func Events(state, name string, since uint64, each func(api.Event) error) error {
	dir, err := openPlace(state, name, false)
	if err != nil {
		return missing(name, err)
	}
	defer dir.Close()
	if err := eachEvent(dir, since, each); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the events of %q: %w", name, err)
	}
	return nil
}

// Logs gives what an app of such a workspace has written. word is the app's id,
// its beginning, or its name.
func Logs(ctx context.Context, state, name, word string, req api.Request, each func(*api.Output) error) error {
	dir, err := openPlace(state, name, false)
	if err != nil {
		return missing(name, err)
	}
	defer dir.Close()
	m, err := readManifest(dir)
	if err != nil {
		return fmt.Errorf("reading the manifest of %q: %w", name, err)
	}
	i, err := PickApp(api.OpLogs, name, m.Apps, word)
	if err != nil {
		return err
	}
	id := m.Apps[i].ID
	for _, stream := range []string{api.StreamStdout, api.StreamStderr} {
		if req.Stream != "" && req.Stream != stream {
			continue
		}
		err := sendLog(ctx, dir, id, stream, &req, nil, each)
		if errors.Is(err, os.ErrNotExist) {
			return api.Refused(api.CodeNoApp, api.OpLogs, id, fmt.Sprintf("the output of app %s was not kept", id), "`carrel launch` keeps it")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
