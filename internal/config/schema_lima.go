package config

import (
	"fmt"
	"strings"

	"carrel/internal/policy"
)

// Lima is what machines of backend lima are made of. nil: not said; the operator's word stands.
type Lima struct {
	Image  *policy.Value[string]
	Digest *policy.Value[string]
	CPUs   *policy.Value[int64]
	Memory *policy.Value[int64] // in bytes
	Disk   *policy.Value[int64] // in bytes
}

func limaField() field {
	return field{key: "lima", typ: typeObject, in: userFiles,
		doc: "What the machines of backend lima are made of. What the operator names, no other file changes.",
		sub: []field{
			{key: "image", typ: typeText, check: badMachineImage,
				doc: "The disk image of a Debian-like system: an https URL or an absolute path. Lima fetches it.",
				put: func(t *target, v value) { t.settings.Lima.Image = textValue[string](v) }},
			{key: "digest", typ: typeText, check: badImageDigest,
				doc: "The digest of the image: sha256: or sha512: and hexadecimal digits. Lima refuses another.",
				put: func(t *target, v value) { t.settings.Lima.Digest = textValue[string](v) }},
			{key: "cpus", typ: typeCount, doc: "Processors of a machine. 2 where it is not said.",
				put: func(t *target, v value) { t.settings.Lima.CPUs = numberValue(v) }},
			{key: "memory", typ: typeSize, doc: "Memory of a machine. 2GiB where it is not said.",
				put: func(t *target, v value) { t.settings.Lima.Memory = numberValue(v) }},
			{key: "disk", typ: typeSize, doc: "Disk of a machine. 20GiB where it is not said.",
				put: func(t *target, v value) { t.settings.Lima.Disk = numberValue(v) }},
		}}
}

func badMachineImage(v value) string {
	if !strings.HasPrefix(v.text, "/") && !strings.HasPrefix(v.text, "https://") {
		return fmt.Sprintf("%s is neither an absolute path nor an https URL", quoted(v.text))
	}
	return ""
}

func badImageDigest(v value) string {
	kind, digits, _ := strings.Cut(v.text, ":")
	if want := map[string]int{"sha256": 64, "sha512": 128}[kind]; want == 0 || len(digits) != want || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Sprintf("%s is no digest: want sha256:, or sha512:, and hexadecimal digits", quoted(v.text))
	}
	return ""
}

// merge takes what a file says. An image goes with its digest: one file's digest is of its own image.
func (l *Lima) merge(said Lima) {
	if l.Image == nil {
		l.Image, l.Digest = said.Image, said.Digest
	}
	for _, n := range []struct{ to, from **policy.Value[int64] }{
		{&l.CPUs, &said.CPUs}, {&l.Memory, &said.Memory}, {&l.Disk, &said.Disk},
	} {
		if *n.to == nil {
			*n.to = *n.from
		}
	}
}

func numberValue(v value) *policy.Value[int64] {
	return &policy.Value[int64]{V: v.number, Source: v.source}
}
