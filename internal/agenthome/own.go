package agenthome

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/agents"
	"carrel/internal/sandbox"
)

// openOwn makes the agent's directories in agent_config_dir where they are missing, and
// gives the mounts that put them in place.
func (h *Home) openOwn() ([]sandbox.Mount, error) {
	dir := h.Own
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, h.OwnRefused(dir, err.Error(), "make it, or name another")
	}
	h.Facts.Forget(dir)
	if err := h.OwnAllowed(dir); err != nil { // as it is now
		return nil, err
	}
	real := h.Facts.Canonical(dir)
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, h.OwnRefused(dir, err.Error(), "name another")
	}
	defer root.Close()
	places := slices.Clone(h.Agent.State)
	for _, program := range h.Agent.ProgramsInState() { // a mount needs a place
		if _, kind := h.Facts.Resolve(filepath.Join(h.Host, program)); kind == sandbox.KindDir {
			places = append(places, program)
		}
	}
	for _, place := range places {
		in := h.Agent.InOwn(place)
		if err := root.MkdirAll(in, 0o700); err != nil {
			return nil, h.OwnRefused(dir, err.Error(), "what is in it has to be directories, and no links out of it")
		}
		if at := filepath.Join(real, in); h.Facts.Canonical(at) != at { // a command may have put it there
			return nil, h.OwnRefused(dir, fmt.Sprintf("%q in it is a link", in), "make it a directory")
		}
	}
	h.Facts.ForgetBelow(real)
	return h.binds(agents.PlanOwn(h.Agent, h.Host, h.Inside, real).Binds, "agent_config_dir"), nil
}
