package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/gitdir"
	"carrel/internal/hostfile"
)

// History is where the history of a project is kept unless the configuration says otherwise.
func (s *Dir) History(project string) string { return s.Project(project) + "/history" }

// PathFile holds the path of a project, quoted; its time is that of the last use.
const PathFile = "/path"

// Use notes the path of a project, and the time.
func (s *Dir) Use(project string) error {
	name := s.Project(project) + PathFile
	if s.NotedPath(ProjectID(project)) == project {
		now := time.Now()
		return os.Chtimes(name, now, now)
	}
	if err := os.MkdirAll(s.Project(project), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC|os.O_CREATE|hostfile.NoFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(Quoted(project) + "\n")
	return errors.Join(err, f.Close())
}

// NotedPath is the path of a project as it was noted, "" where it was not.
func (s *Dir) NotedPath(id string) string {
	text, err := os.ReadFile(filepath.Join(s.path, "projects", id) + PathFile)
	if err != nil {
		return ""
	}
	path, err := strconv.Unquote(strings.TrimSuffix(string(text), "\n"))
	if err != nil || ProjectID(path) != id { // a loss of power has left a part of it
		return ""
	}
	return path
}

// Quoted is how a path is written in a file or a message.
func Quoted(s string) string { return strconv.Quote(s) }

// placesFile lists, quoted, where a project's history has been kept beside the state
// directory: a person who changes history.dir is told where the old one is.
const placesFile = "/history-places"

// Remember notes a place, once.
func (s *Dir) Remember(project, dir string) error {
	if slices.Contains(s.remembered(project), dir) || dir == s.History(project) {
		return nil
	}
	if err := os.MkdirAll(s.Project(project), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.Project(project)+placesFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE|hostfile.NoFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(Quoted(dir) + "\n")
	return errors.Join(err, f.Close())
}

func (s *Dir) remembered(project string) []string { return ReadPlaces(s.Project(project)) }

// ReadPlaces reads the file of one project's directory.
func ReadPlaces(dir string) []string {
	text, err := gitdir.ReadSmall(dir + placesFile)
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(text) {
		if dir, err := strconv.Unquote(strings.TrimSuffix(line, "\n")); err == nil {
			out = append(out, dir)
		}
	}
	return out
}

// OtherHistory finds a place that is not the present one and has a history of the
// project, the latest first; "" for none.
func (s *Dir) OtherHistory(project, now string) string {
	all := append([]string{s.History(project)}, s.remembered(project)...)
	for _, dir := range slices.Backward(all) {
		journals, err := os.ReadDir(dir + "/journal")
		if dir != now && err == nil && len(journals) > 0 {
			return dir
		}
	}
	return ""
}
