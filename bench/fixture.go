package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// fixture is the places that the contenders run in; all below one directory.
type fixture struct {
	root  string
	repo  string // a git repository of 200 files
	large string // a directory tree of many files
	masks string // files to hide
	state string // XDG_STATE_HOME, so that measuring leaves nothing behind
	conf  string // XDG_CONFIG_HOME
	files int
	env   []string
}

const (
	repoFiles = 200
	maskFiles = 5000
	perDir    = 100
)

// fixtureParent is where fixtures are made: below home, as projects are. Below
// /tmp some contenders refuse to work or hide the project.
func fixtureParent() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the fixture: %w", err)
	}
	return cache, os.MkdirAll(cache, 0o700)
}

// newFixture makes the directory below parent; remove takes it away.
func newFixture(parent string, files int) (*fixture, error) {
	root, err := os.MkdirTemp(parent, "carrel-bench-")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("making the fixture: %w", err)
	}
	f := &fixture{root: root, repo: root + "/repo", large: root + "/large", masks: root + "/masks", state: root + "/state", conf: root + "/config", files: files}
	f.env = append(os.Environ(), "XDG_STATE_HOME="+f.state, "XDG_CONFIG_HOME="+f.conf, "CODEX_HOME="+root+"/codex", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0")
	return f, nil
}

// fill makes everything in it.
func (f *fixture) fill() error {
	root := f.root
	if err := errors.Join(
		mkdirs(f.state, f.conf, root+"/codex"),
		tree(f.repo, repoFiles, "file%03d.txt"),
		tree(f.large, f.files, "file%03d.go"),
		tree(f.masks, maskFiles, "secret%04d"),
		os.WriteFile(root+"/srt.json", []byte(`{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}`), 0o600),
		f.secrets(),
		f.commit(),
	); err != nil {
		return fmt.Errorf("filling the fixture: %w", err)
	}
	return nil
}

func (f *fixture) remove() { _ = os.RemoveAll(f.root) }

func mkdirs(dirs ...string) error {
	for _, d := range dirs {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// tree makes n small files, a hundred to a directory, ten directories to the
// next one up.
func tree(root string, n int, name string) error {
	for i := range n {
		dir := fmt.Sprintf("%s/group%02d/dir%03d", root, i/perDir/10, i/perDir)
		if i%perDir == 0 {
			if err := errors.Join(lasting.Err(), os.MkdirAll(dir, 0o755)); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(name, i%perDir)), []byte("content\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// secrets puts one match of each deny glob into the large project.
func (f *fixture) secrets() error {
	dir := f.large + "/group00/dir000/"
	for _, name := range []string{"server.pem", "server.key", "id_rsa.old", ".env.production", "secrets.json"} {
		if err := os.WriteFile(dir+name, []byte("canary\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// commit makes the repository.
func (f *fixture) commit() error {
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "files"},
	} {
		if err := once(f.repo, f.env, append([]string{"git"}, args...)); err != nil {
			return err
		}
	}
	return nil
}

// maskPath gives the i-th file to hide.
func (f *fixture) maskPath(i int) string {
	return fmt.Sprintf("%s/group%02d/dir%03d/secret%04d", f.masks, i/perDir/10, i/perDir, i%perDir)
}
