package config

import "carrel/internal/policy"

// historyField is the key of the history: a mode alone, or a mapping.
func historyField() field {
	return field{key: "history", typ: typeObject, word: "mode",
		doc: "What is kept of changes; a mode alone may stand for the mapping.",
		sub: []field{{key: "mode", typ: typeEnum, enum: []string{"on", "off"},
			doc: "on: each change of the project is decided and recorded; off: plain writable mounts, which is weaker. A project file can only turn it on.",
			put: func(t *target, v value) { t.request.History = textValue[policy.HistoryMode](v) }}}}
}

// historyLimits are what the history of one project may take. They are in no
// preset and no project file: whoever lowers them loses what could be undone, and
// whoever raises them fills the disk.
func historyLimits() []field {
	number := func(of func(*HistoryLimits) **policy.Value[int64]) func(t *target, v value) {
		return func(t *target, v value) {
			*of(&t.settings.History) = &policy.Value[int64]{V: v.number, Source: v.source}
		}
	}
	return []field{
		{key: "max_bytes", typ: typeSize, in: userFiles,
			doc: "How much of the disk the history of a project may take; the oldest steps go. 10GiB where it is not said, 0 is no limit.",
			put: number(func(h *HistoryLimits) **policy.Value[int64] { return &h.MaxBytes })},
		{key: "max_steps", typ: typeCount, in: userFiles,
			doc: "How many steps are kept of a project; the oldest go. 1000 where it is not said, 0 is no limit.",
			put: number(func(h *HistoryLimits) **policy.Value[int64] { return &h.MaxSteps })},
		{key: "max_step_bytes", typ: typeSize, in: userFiles,
			doc: "How much one step may copy to keep it; what is beyond cannot be undone. Links and clones cost nothing and have no limit. 2GiB where it is not said, 0 is no limit.",
			put: number(func(h *HistoryLimits) **policy.Value[int64] { return &h.MaxStepBytes })},
		{key: "max_file_bytes", typ: typeSize, in: userFiles,
			doc: "How large a file may be that is copied to keep it. 1GiB where it is not said, 0 is no limit.",
			put: number(func(h *HistoryLimits) **policy.Value[int64] { return &h.MaxFileBytes })},
	}
}
