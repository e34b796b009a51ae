// Package keys stands between programs inside the walls and the credentials of the person
// outside: what they ask is parsed, and held to what the person has allowed. It is put to the
// real git, gh, ssh agent or gpg, of which only the answer goes in.
//
// Its words: a [policy.CredentialUse] is what was allowed; an [SSHAgent] is the filter
// before the person's ssh agent; a [Program] is a helper of the host, started with an
// environment of its own, outside of every project, and bounded in time and size.
//
// Everything that comes from inside is hostile: each message is bounded, parsed once and
// whole, and what was not understood is refused. Nothing here is logged but what callers
// say in [Use], which has names and fingerprints and no secret. It reads no
// configuration and decides nothing about ceilings; it must not import view or
// workspace, and nothing of it goes inside.
package keys
