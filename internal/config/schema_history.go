package config

import (
	"strings"

	"carrel/internal/policy"
)

// historyField is the key of the history: a mode alone, or a mapping.
func historyField() field {
	return field{key: "history", typ: typeObject, word: "mode",
		doc: "What is kept of changes; a mode alone may stand for the mapping.",
		sub: []field{{key: "mode", typ: typeEnum, enum: []string{"on", "off"},
			doc: "on: each change of the project is decided and recorded; off: plain writable mounts, which is weaker. A project file can only turn it on.",
			put: func(t *target, v value) { t.request.History = textValue[policy.HistoryMode](v) }}}}
}

// historyPlaces say where histories are kept, and of what. They are in no preset and
// no project file: whoever sets them decides what can be undone.
func historyPlaces() []field {
	return []field{
		{key: "dir", typ: typeText, in: userFiles,
			doc: "Where histories are kept, one directory a project: an absolute path, or one in ~, whose last part is made where it is missing. The state directory where it is not said.",
			put: func(t *target, v value) { t.settings.History.Dir = textValue[string](v) }, check: badHistoryDir},
		{key: "ignore", typ: typeList, in: userFiles,
			doc: "What is not kept, and left alone by undo: patterns as in .gitignore, relative to the project and to each place that is opened for writing; no ! and no comments.",
			put: func(t *target, v value) {
				t.settings.History.Ignore = append(t.settings.History.Ignore, *textValue[string](v))
			}, check: badIgnore},
	}
}

// badHistoryDir says what is wrong with a place for histories.
func badHistoryDir(v value) string {
	switch {
	case v.text == "":
		return "the path is empty"
	case strings.IndexByte(v.text, 0) >= 0:
		return "the path holds a NUL byte"
	case !strings.HasPrefix(v.text, "/") && !strings.HasPrefix(v.text, "~/"):
		return quoted(v.text) + " is not an absolute path: want one that begins with / or ~/"
	}
	return ""
}

// badIgnore says what is wrong with a pattern of what is not kept.
func badIgnore(v value) string {
	if _, err := policy.NewIgnored([]string{"/"}, []string{v.text}); err != nil {
		return err.Error()
	}
	return ""
}

// historyLimits are what the history of one project may take, and those of all. They are in no
// preset and no project file: whoever lowers them loses what could be undone, and
// whoever raises them fills the disk.
func historyLimits() []field {
	number := func(of func(*History) **policy.Value[int64]) func(t *target, v value) {
		return func(t *target, v value) {
			*of(&t.settings.History) = &policy.Value[int64]{V: v.number, Source: v.source}
		}
	}
	return []field{
		{key: "max_bytes", typ: typeSize, in: userFiles,
			doc: "How much of the disk the history of a project may take; the oldest steps go. 2GiB where it is not said, 0 is no limit.",
			put: number(func(h *History) **policy.Value[int64] { return &h.MaxBytes })},
		{key: "max_total_bytes", typ: typeSize, in: userFiles,
			doc: "How much of the disk the histories of all projects may take together; the oldest steps of the projects that were not used for the longest time go. " +
				"Where it is not said, 10GiB or history.max_bytes if that is more, and no limit if that is 0; 0 is no limit.",
			put: number(func(h *History) **policy.Value[int64] { return &h.MaxTotalBytes })},
		{key: "max_steps", typ: typeCount, in: userFiles,
			doc: "How many steps are kept of a project; the oldest go. 1000 where it is not said, 0 is no limit.",
			put: number(func(h *History) **policy.Value[int64] { return &h.MaxSteps })},
		{key: "max_step_bytes", typ: typeSize, in: userFiles,
			doc: "How much one step may copy to keep it; what is beyond cannot be undone. Links and clones cost nothing and have no limit. 2GiB where it is not said, 0 is no limit.",
			put: number(func(h *History) **policy.Value[int64] { return &h.MaxStepBytes })},
		{key: "max_file_bytes", typ: typeSize, in: userFiles,
			doc: "How large a file may be that is copied to keep it. 1GiB where it is not said, 0 is no limit.",
			put: number(func(h *History) **policy.Value[int64] { return &h.MaxFileBytes })},
	}
}
