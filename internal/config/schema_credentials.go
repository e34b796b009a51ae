package config

import (
	"carrel/internal/policy"
)

// maxCredentials bounds the uses of one file, and the hosts of one use.
const maxCredentials = 256

// credentialsField is the key of what of the user's credentials may be used inside. It
// is in no profile, preset or project file: whoever sets it lends the user's name.
func credentialsField() field {
	signing := func(kind policy.CredentialKind, doc, about string, bad func(string) string) field {
		return field{key: string(kind)[len("sign."):], typ: typeObject, word: "key", doc: doc, open: openCredential(kind), sub: []field{
			{key: "key", typ: typeText, need: true, doc: about, put: putCredentialKey, check: func(v value) string { return bad(v.text) }},
			askField()}}
	}
	const sshKey = "The key: SHA256:... as `ssh-add -l` shows it, the absolute path of its public key, or its comment."
	return field{key: "credentials", typ: typeObject, in: userFiles,
		doc: "What of your credentials programs inside may use. It stays outside: carrel asks git, gh, the ssh agent or gpg there, and hands in the answer. Nothing where it is not said.",
		sub: []field{
			hostUses(policy.CredentialGit, "Hosts for which `git credential fill` is asked outside: git over https gets user and password. A name, *.example.com, or with :PORT; or a mapping."),
			hostUses(policy.CredentialGH, "Hosts for which `gh auth token` is asked outside: gh inside gets the token in its environment, and git over https to that host too."),
			{key: "ssh", typ: typeObjects, doc: "Keys of your ssh agent with the hosts to which they may log in.", open: openCredential(policy.CredentialSSH), sub: []field{
				{key: "key", typ: typeText, need: true, doc: sshKey, put: putCredentialKey, check: func(v value) string { return policy.BadCredentialKey(v.text) }},
				{key: "hosts", typ: typeList, need: true, doc: "Names as your known_hosts has them, with :PORT where it is not 22.",
					put: putCredentialHost, check: badKnownHost},
				askField()}},
			{key: "sign", typ: typeObject, doc: "Keys with which commits and tags may be signed.", sub: []field{
				signing(policy.CredentialSignSSH, "A key of your ssh agent; git inside signs with it in the format ssh.", sshKey, policy.BadCredentialKey),
				signing(policy.CredentialSignGPG, "A key of your gpg; git inside signs with it in the format openpgp.",
					"The key: its long id or fingerprint.", policy.BadSigningKey)}},
		}}
}

func hostUses(kind policy.CredentialKind, doc string) field {
	return field{key: string(kind), typ: typeObjects, word: "host", doc: doc, open: openCredential(kind), sub: []field{
		{key: "host", typ: typeText, need: true, doc: "The host, as above.", put: putCredentialHost, check: func(v value) string {
			h, err := policy.ParseCredentialHost(v.text)
			switch {
			case err != nil:
				return err.Error()
			case kind == policy.CredentialGH && (h.Below || h.Port != 0):
				return quoted(v.text) + " is no name of one host: gh has a token for each"
			}
			return ""
		}},
		askField()}}
}

func askField() field {
	return field{key: "ask", typ: typeBool, doc: "true: each use waits for your word, see `carrel approvals`.",
		put: func(t *target, v value) { t.credential.Ask = v.flag }}
}

func openCredential(kind policy.CredentialKind) func(*target, value) *target {
	return func(t *target, v value) *target {
		list := &t.settings.Credentials
		if len(*list) == maxCredentials {
			t.decoder.problems = append(t.decoder.problems, at(v.source, "more than 256 uses of credentials stand in this file"))
			*list = nil
		}
		*list = append(*list, policy.CredentialUse{Kind: kind, Source: v.source})
		inner := *t
		inner.credential = &(*list)[len(*list)-1]
		return &inner
	}
}

func putCredentialKey(t *target, v value) { t.credential.Key = v.text }

func putCredentialHost(t *target, v value) {
	if len(t.credential.Hosts) == maxCredentials {
		t.decoder.problems = append(t.decoder.problems, at(v.source, "more than 256 hosts stand here"))
		t.credential.Hosts = nil
	}
	t.credential.Hosts = append(t.credential.Hosts, v.text)
}

// badKnownHost says what is wrong with a host of an ssh key: a pattern would mean hosts
// whose keys nobody has looked at.
func badKnownHost(v value) string {
	h, err := policy.ParseCredentialHost(v.text)
	switch {
	case err != nil:
		return err.Error()
	case h.Below:
		return quoted(v.text) + " is a pattern: ssh keys are for single hosts, whose own keys are known"
	}
	return ""
}
