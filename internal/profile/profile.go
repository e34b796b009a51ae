// Package profile keeps the workspaces that a person saved under a name. Its
// words:
//
//   - A [Profile] is one definition with its name: where it works, what it asks
//     of the policy, what shows inside, what is run first and what is started.
//   - Their directory, [Dir], has one file NAME.yaml each, below the user's
//     configuration: ~/.config/carrel/profiles. It belongs to the user alone, or
//     nothing is read from it and nothing written.
//   - The layer of a profile ranks below everything that the user says
//     elsewhere and above a project's file: see package policy. A profile
//     decides nothing itself.
//
// The keys of a file and their strict decoding are package config's. What a profile may do is
// decided where a workspace is prepared, by the same function as for every command. So it is
// never more than the ceiling.
package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"carrel/internal/config"
	"carrel/internal/policy"
)

// Names of what a definition is made of.
type (
	// EnvVar is a variable with its value inside.
	EnvVar = config.EnvVar
	// Mount is a place of the host and where it shows inside.
	Mount = config.DefinedMount
	// Command is a program that the workspace starts, without a shell.
	Command = config.Command
)

// Profile is a saved workspace. Its places are as they were written, in ~ too;
// see [Profile.At].
type Profile struct {
	Name string
	config.Definition
}

// Layer is the profile as what it asks of the policy. A mount is a grant of its
// host path, wherever it shows inside.
func (p *Profile) Layer() policy.Layer {
	r := p.Request
	r.EnvSet = maps.Clone(r.EnvSet)
	for _, v := range p.Env {
		if r.EnvSet == nil {
			r.EnvSet = make(map[string]policy.Value[string])
		}
		r.EnvSet[v.Name] = policy.Value[string]{V: v.Value, Source: v.Source}
	}
	r.Files = slices.Clone(r.Files)
	for _, m := range p.Mounts {
		access := policy.Read
		if m.Write {
			access = policy.Write
		}
		r.Files = append(r.Files, policy.FileRequest{Place: m.Host, Access: access, Source: m.Source})
	}
	return policy.Layer{Kind: policy.LayerProfile, Name: "profile " + p.Name, Request: r}
}

// Digest tells whether two profiles mean the same: the SHA-256 of the canonical
// form, in hexadecimal. The name does not count. It is "" for one that cannot
// be written down, which equals none.
func (p *Profile) Digest() string {
	text, err := config.EncodeDefinition(&p.Definition)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// At is the profile with every place absolute: what is in ~ is in home, and
// the commands without a directory, or with a relative one, run in the
// profile's, or in cwd where it names none. A directory below a mount's place
// inside is that of the host. The policy's own places stay.
func (p *Profile) At(home, cwd string) (*Profile, error) {
	out := *p
	var err error
	expand := func(place string) string {
		full, problem := inHome(home, place)
		if err == nil {
			err = problem
		}
		return full
	}
	out.Mounts = slices.Clone(p.Mounts)
	for i := range out.Mounts {
		out.Mounts[i].Host, out.Mounts[i].Workspace = expand(out.Mounts[i].Host), expand(out.Mounts[i].Workspace)
	}
	if out.Cwd = out.onHost(expand(p.Cwd)); out.Cwd == "" {
		out.Cwd = cwd
	}
	placed := func(list []Command) []Command {
		list = slices.Clone(list)
		for i := range list {
			if list[i].Cwd = expand(list[i].Cwd); !path.IsAbs(list[i].Cwd) {
				list[i].Cwd = path.Join(out.Cwd, list[i].Cwd)
			}
			list[i].Cwd = out.onHost(list[i].Cwd)
		}
		return list
	}
	out.Setup, out.Apps = placed(p.Setup), placed(p.Apps)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return &out, nil
}

// onHost carries a directory below a mount's place inside to the host's.
func (p *Profile) onHost(dir string) string {
	for _, m := range p.Mounts {
		if rest, ok := strings.CutPrefix(dir, m.Workspace); ok && (rest == "" || rest[0] == '/') {
			return path.Join(m.Host, rest)
		}
	}
	return dir
}

func inHome(home, place string) (string, error) {
	rest, ok := strings.CutPrefix(place, "~")
	if !ok {
		return place, nil
	}
	if !path.IsAbs(home) {
		return "", fmt.Errorf("%q is in the home directory, and HOME is no absolute path", place)
	}
	return path.Join(home, rest), nil
}

// CheckName says what is wrong with the name of a profile; nil if nothing.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name of the profile is empty")
	case len(name) > 64, strings.Trim(name, letters) != "", name[0] == '-', name[0] == '.':
		return fmt.Errorf("%q is not a profile's name: use up to 64 letters, digits, dots, dashes and underscores, and begin with a letter, a digit or an underscore", name)
	}
	return nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// Parse reads a profile as it stands in a file; file names it in messages. The
// error is a [config.Problems].
func Parse(name string, data []byte, file string) (*Profile, error) {
	def, err := config.DecodeDefinition(data, file)
	if err != nil {
		return nil, err
	}
	return &Profile{Name: name, Definition: *def}, nil
}
