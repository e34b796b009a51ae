package machine

import (
	"fmt"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/policy"
)

// carriesVM refuses what no machine of QEMU carries yet.
func (w *Wish) carriesVM() error {
	refuse := func(what, fix string) error {
		return &advice.Error{Err: fmt.Errorf("backend vm: %s", what), Hint: fix}
	}
	switch {
	case w.Engine != "":
		return refuse("--engine "+w.Engine+": the machine's kernel makes the walls", "leave --engine out")
	case w.Image != "":
		return refuse("--image "+w.Image+": it is a container's", "leave --image out; vm.kernel and vm.initrd name what a machine boots from")
	case w.Project == "" || w.Project == "/":
		return refuse("there is no project", "start it in the directory of a project")
	case w.Network == policy.NetOpen:
		return refuse("network open: a machine has no network card", "--network filtered goes by Carrel's proxy")
	}
	return nil
}

// getenv gives a variable of the person's.
func (w *Wish) getenv(name string) string {
	for _, v := range w.Environ {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			return text
		}
	}
	return ""
}

func text(v *policy.Value[string]) string {
	if v == nil {
		return ""
	}
	return v.V
}

// CheckFlags refuses what flags say of a machine where none is made of it.
func CheckFlags(vm *config.VM, backend policy.Backend) error {
	for _, f := range vm.Flags() {
		if f.String() == "" || backend == policy.BackendVM {
			continue
		}
		hint := "--backend vm, or leave --" + f.Name + " out"
		if backend == policy.BackendLima {
			hint = "lima.image, lima.cpus and lima.memory in your configuration say it of machines of Lima"
		}
		return &advice.Error{Hint: hint,
			Err: fmt.Errorf("--%s %s: it is for a machine of backend vm, and the backend is %s", f.Name, f, backend)}
	}
	return nil
}
