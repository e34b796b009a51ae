package config

import "carrel/internal/policy"

var switchWords = []string{string(policy.SwitchOn), string(policy.SwitchOff)}

// virtualField are the built-in commands that reach the person outside. A preset, a
// profile and a project file can only switch them off.
func virtualField() field {
	return field{key: "virtual_commands", typ: typeObject,
		doc: "What built-in commands inside may ask of your desktop.",
		sub: []field{
			{key: "sound", typ: typeEnum, enum: switchWords,
				doc: "on: afplay, paplay and their like play sounds of this machine's sound theme, by name, or ring the terminal's bell. on where it is not said.",
				put: func(t *target, v value) { t.request.Sound = textValue[policy.Switch](v) }},
			{key: "notify", typ: typeEnum, enum: switchWords,
				doc: "on: notify-send shows its text on your desktop, under the workspace's name. on where it is not said.",
				put: func(t *target, v value) { t.request.Notify = textValue[policy.Switch](v) }},
		}}
}

func openURLsField() field {
	return field{key: "open_urls", typ: typeEnum, in: userFiles, enum: []string{"show", "browser", "none"},
		doc: "What happens to a URL that a command inside wants opened: show it, open it in the browser outside, or none: refuse it.",
		put: func(t *target, v value) { t.request.OpenURLs = textValue[policy.LinkMode](v) }}
}

// virtualCeiling are the same of a ceiling.
func virtualCeiling() []field {
	return []field{
		{key: "virtual_commands", typ: typeObject,
			doc: "Which built-in commands may reach the person outside.",
			sub: []field{
				{key: "sound", typ: typeEnum, enum: switchWords,
					doc: "off: no program inside makes a sound outside, nor rings the bell by a command of carrel's.",
					put: func(t *target, v value) { t.ceiling.Sound = textValue[policy.Switch](v) }},
				{key: "notify", typ: typeEnum, enum: switchWords,
					doc: "off: no program inside shows a notification.",
					put: func(t *target, v value) { t.ceiling.Notify = textValue[policy.Switch](v) }},
			}},
		{key: "open_urls", typ: typeEnum, enum: []string{"browser", "show", "none"},
			doc: "The most that becomes of a link: browser, then show, then none.",
			put: func(t *target, v value) { t.ceiling.OpenURLs = textValue[policy.LinkMode](v) }},
	}
}
