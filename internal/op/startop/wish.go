package startop

import (
	"strconv"

	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/op"
	"carrel/internal/policy"
)

// Wish is what a program asks for: the flags of carrel start that programs have a use for. A
// zero value asks for nothing.
type Wish struct {
	Name, Profile, Purpose, Agent string
	Network, Display, Backend     string
	Isolation                     string // the least that the backend has to give
	Size                          string // of the display, WIDTHxHEIGHT
	Read, Write                   []string
	Hosts                         []string
	VM                            config.VM
	NoPrompts                     bool // the agent's own questions are off
	Owner                         int  // the process that it ends with, 0 for none
	Passing                       bool // when that process ends, only the audit log is kept
}

// Words are the wish as words of carrel start.
func (w *Wish) Words() []string {
	words := []string{"start"}
	add := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" {
				words = append(words, "--"+flag+"="+v)
			}
		}
	}
	add("profile", w.Profile)
	add("purpose", w.Purpose)
	add("agent", w.Agent)
	add("network", w.Network)
	add("display", w.Display)
	add("backend", w.Backend)
	add("isolation", w.Isolation)
	add("size", w.Size)
	for _, f := range w.VM.Flags() {
		add(f.Name, f.String())
	}
	add("allow-host", w.Hosts...)
	add("read", w.Read...)
	add("write", w.Write...)
	if w.NoPrompts {
		words = append(words, "--no-prompts")
	}
	if w.Owner != 0 {
		add("ends-with", strconv.Itoa(w.Owner))
	}
	if w.Passing {
		words = append(words, "--keep-nothing")
	}
	return append(words, "--", w.Name)
}

// Request is the wish as the request of a caller that goes on.
func (w *Wish) Request(c *op.Caller) (*Request, error) {
	if err := op.NoZeroBytes("start", w.Words()...); err != nil {
		return nil, err
	}
	under, err := c.Ceilings()
	if err != nil {
		return nil, err
	}
	r := &Request{Name: w.Name, Purpose: w.Purpose, Owner: w.Owner, Passing: w.Passing, Detach: true, Words: w.Words()}
	r.Asked = decide.Request{
		Flags: w.flags(), Default: policy.Agent, PromptsOff: w.NoPrompts, Size: w.Size, VM: w.VM, Environ: c.Environ, Profile: w.Profile,
		Version: c.Version, Here: c.Dir, Ceilings: under, Stays: true,
	}
	if w.Agent != "" {
		r.Asked.Argv = []string{w.Agent}
	}
	return r, nil
}

// flags are the command line's layer.
func (w *Wish) flags() policy.Request {
	var r policy.Request
	r.Backend = one[policy.Backend]("--backend", w.Backend)
	r.Isolation = one[policy.Isolation]("--isolation", w.Isolation)
	r.Network = one[policy.NetworkMode]("--network", w.Network)
	r.Display = one[policy.DisplayMode]("--display", w.Display)
	for _, place := range w.Read {
		r.Files = append(r.Files, policy.FileRequest{Place: place, Access: policy.Read, Source: said("--read")})
	}
	for _, place := range w.Write {
		r.Files = append(r.Files, policy.FileRequest{Place: place, Access: policy.Write, Source: said("--write")})
	}
	for _, host := range w.Hosts {
		r.AllowHosts = append(r.AllowHosts, policy.Value[string]{V: host, Source: said("--allow-host")})
	}
	return r
}

func one[T ~string](flag, value string) *policy.Value[T] {
	if value == "" {
		return nil
	}
	return &policy.Value[T]{V: T(value), Source: said(flag)}
}

func said(flag string) policy.Source {
	return policy.Source{Layer: policy.LayerCommandLine, Text: flag}
}
