package config

import (
	"time"

	"carrel/internal/policy"
)

// safeguardFields are the keys of safeguards.
func safeguardFields() []field {
	number := func(of func(*Safeguards) **policy.Value[int64]) func(t *target, v value) {
		return func(t *target, v value) {
			*of(&t.settings.Safeguards) = &policy.Value[int64]{V: v.number, Source: v.source}
		}
	}
	return []field{
		{key: "then", typ: typeEnum, enum: []string{"notify", "ask"},
			doc: "What happens beyond a bound: notify tells it at the end of the run and to `carrel approvals --follow`; ask holds the change and freezes the workspace until a person has answered; a no holds for the rest of the step. What the steps of the last ten minutes did counts, too: where a step ends is up to the command. notify where it is not said.",
			put: func(t *target, v value) { t.settings.Safeguards.Then = textValue[string](v) }},
		{key: "removed_files", typ: typeCount,
			doc: "How many files a step may remove. 1000 where it is not said.",
			put: number(func(s *Safeguards) **policy.Value[int64] { return &s.RemovedFiles })},
		{key: "removed_bytes", typ: typeSize,
			doc: "How much the files that a step removes may hold. 1GiB where it is not said.",
			put: number(func(s *Safeguards) **policy.Value[int64] { return &s.RemovedBytes })},
		{key: "overwritten_bytes", typ: typeSize,
			doc: "How much the files may hold that a step opens for writing: how much of them it changes cannot be seen. 1GiB where it is not said.",
			put: number(func(s *Safeguards) **policy.Value[int64] { return &s.OverwrittenBytes })},
		{key: "replaced_files", typ: typeCount,
			doc: "How many files a step may replace by renaming others over them. 1000 where it is not said.",
			put: number(func(s *Safeguards) **policy.Value[int64] { return &s.ReplacedFiles })},
		{key: "always_ask", typ: typeList,
			doc: "What is never removed, renamed, replaced, given a second name or opened for writing without a question, nor moved with a directory: paths and patterns, written as for deny.",
			put: func(t *target, v value) {
				t.settings.Safeguards.AlwaysAsk = append(t.settings.Safeguards.AlwaysAsk, DenyOf(v.text, v.source))
			}, check: badPlace},
		{key: "answer_within", typ: typeDuration,
			doc: "How long a question waits; no answer is no. 5m where it is not said.",
			put: func(t *target, v value) {
				t.settings.Safeguards.AnswerWithin = &policy.Value[time.Duration]{V: time.Duration(v.number), Source: v.source}
			}},
	}
}
