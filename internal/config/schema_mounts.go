package config

import (
	"strconv"

	"carrel/internal/policy"
)

// maxMounts bounds the mounts of one file: each is compared with each.
const maxMounts = 256

// extraMountsField is the key of what the user shows every workspace. It is in no
// preset and no project file: whoever sets it chooses what of the host is in sight.
func extraMountsField() field {
	return field{key: "extra_mounts", typ: typeObjects, in: userFiles, word: "host_path",
		doc:  "Files and directories of the host that every workspace sees: each a host_path alone, which is read-only and shows at its own path, or a mapping.",
		sub:  extraMountFields(),
		open: openExtraMount}
}

func extraMountFields() []field {
	return []field{
		{key: "host_path", typ: typeText, need: true,
			doc:   "The file or directory outside, absolute or in ~. It has to be there.",
			check: func(v value) string { return badHostPlace(v.text) },
			put:   putHost},
		{key: "guest_path", typ: typeText,
			doc:   "The path at which it shows inside, absolute or in ~: a link to host_path. ~ is the home directory, which has the same path inside. host_path where it is not said.",
			check: func(v value) string { return badHostPlace(v.text) },
			put:   func(t *target, v value) { t.defined.Workspace = cleanPlace(v.text) }},
		{key: "writable", typ: typeBool,
			doc: "true: it can be changed; changes are recorded and can be undone. Read-only where it is not said.",
			put: func(t *target, v value) { t.defined.Write = v.flag }},
	}
}

// putHost sets the path outside, and the one inside where nothing was said of it.
func putHost(t *target, v value) {
	t.defined.Host = cleanPlace(v.text)
	if t.defined.Workspace == "" {
		t.defined.Workspace = t.defined.Host
	}
}

func openExtraMount(t *target, v value) *target {
	*t.mounts = append(*t.mounts, DefinedMount{Source: v.source})
	inner := *t
	inner.defined = &(*t.mounts)[len(*t.mounts)-1]
	return &inner
}

// mountsMeet refuses two mounts of one file that want one place, and a place with
// two modes.
func (d *decoder) mountsMeet(list []DefinedMount) {
	if len(list) > maxMounts {
		d.problems = append(d.problems, at(list[maxMounts].Source, "more than "+strconv.Itoa(maxMounts)+" mounts stand in this file"))
		return
	}
	for i, m := range list {
		for _, before := range list[:i] {
			switch {
			case m.Host == "" || before.Host == "": // told already
			case m.Workspace == before.Workspace:
				d.problems = append(d.problems, at(m.Source, quoted(m.Workspace)+" is the place of another mount too, in line "+lineOf(before.Source)))
			case m.Host == before.Host && m.Write != before.Write:
				d.problems = append(d.problems, at(m.Source, quoted(m.Host)+" has another mode in line "+lineOf(before.Source)+": it has one wherever it shows"))
			}
		}
	}
}

// grantsOf is what mounts ask of the policy: the host's path, wherever it shows.
func grantsOf(list []DefinedMount) []policy.FileRequest {
	var out []policy.FileRequest
	for _, m := range list {
		access := policy.Read
		if m.Write {
			access = policy.Write
		}
		out = append(out, policy.FileRequest{Place: m.Host, Access: access, Source: m.Source})
	}
	return out
}
