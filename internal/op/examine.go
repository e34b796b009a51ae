package op

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/doctor"
	"carrel/internal/policy"
	"carrel/internal/show"
)

// Report is what an examination of this machine has found.
type Report = doctor.Report

// examining is held by an examination: trials of one process would have the same names.
var examining sync.Mutex

// Examine tries what walls are made of. What has worked before is not tried again unless fresh
// is set. Where there can be no walls it gives the report with an error that names what is
// missing.
//
// What a trial builds it builds in processes of its own, so that a server may ask as well as a
// command that ends: an examination leaves the process that asks as it was.
func Examine(c *Caller, fresh bool) (Report, error) {
	examining.Lock()
	defer examining.Unlock()
	state := c.State()
	m := doctor.This(c.Getenv, state, c.Dir)
	loaded := configuredHere(c)
	m.Containers, m.Lima = containersHere(c, loaded), doctor.LimaHere(c.Environ, limaAsked(loaded))
	m.Gvisor = doctor.GvisorHere(loaded != nil && loaded.Backend() == string(policy.BackendGvisor))
	m.VM = doctor.VMHere(c.Getenv, vmAsked(loaded))
	kept := doctor.Open(m, state, fresh)
	r := doctor.Examine(kept.On(m))
	r.Kept = kept.Kept()
	if err := kept.Save(state); err != nil {
		c.Tell(show.OneLine(err.Error()))
	}
	if r.Ready {
		return r, nil
	}
	lacking := strings.Join(r.Lacking(), ", ")
	return r, fmt.Errorf("carrel run has no walls of its own here: %s\nhint: another engine may hold what you want, with less; `carrel explain` shows which", lacking)
}

// configuredHere reads the configuration, nil where that has a mistake: it is told, and keeps no answer back.
func configuredHere(c *Caller) *config.Loaded {
	texts, err := c.Ceilings()
	if err == nil {
		loaded := (*config.Loaded)(nil)
		if loaded, _, err = decide.ReadSettings(decide.Request{Cwd: c.Dir, Environ: c.Environ, Ceilings: texts}); err == nil {
			return loaded
		}
	}
	c.Tell(show.OneLine(err.Error()))
	return nil
}

// limaAsked is what the configuration says of backend lima.
func limaAsked(loaded *config.Loaded) (asked doctor.LimaAsked) {
	if loaded == nil {
		return asked
	}
	set := &loaded.Settings.Lima
	asked.Wanted = loaded.Backend() == string(policy.BackendLima) || *set != (config.Lima{})
	image, err := set.DiskImage()
	if asked.Refused = err; err == nil {
		asked.Image = image.V
	}
	return asked
}

// vmAsked is what it says of backend vm.
func vmAsked(loaded *config.Loaded) (vm doctor.VMAsked) {
	if loaded == nil {
		return vm
	}
	own := &loaded.Settings.VM
	vm.Wanted = loaded.Backend() == string(policy.BackendVM) || *own != (config.VM{})
	for _, v := range []struct {
		to   *string
		from *policy.Value[string]
	}{{&vm.QEMU, own.QEMU}, {&vm.Kernel, own.Kernel}, {&vm.Initrd, own.Initrd}, {&vm.Accel, own.Accel}} {
		if v.from != nil {
			*v.to = v.from.V
		}
	}
	return vm
}

// containersHere is what this machine has for backend container, and what the configuration says of it.
func containersHere(c *Caller, loaded *config.Loaded) *doctor.Containers {
	if loaded == nil {
		return nil
	}
	set := &loaded.Settings
	here := &doctor.Containers{
		Wanted: loaded.Backend() == string(policy.BackendContainer) || set.ContainerEngine != nil || set.ContainerImage != nil}
	engine, err := decide.ContainerEngine(set, c.Getenv)
	here.Refused = err
	if engine != nil {
		here.Program = engine.Program
	}
	here.Facts = func() (found doctor.ContainerFacts, err error) {
		f, err := engine.Examine(context.Background())
		if err == nil {
			found = doctor.ContainerFacts{Version: f.Version, Rootless: f.Rootless, IDs: f.IDs, Storage: f.Storage, Warnings: f.Warnings()}
		}
		return found, err
	}
	return here
}
