// Package credentials decides what of the user's credentials the programs of one workspace
// may use: logins and tokens for hosts, keys of the ssh agent, signatures. What a program
// inside asks for is held to the user's list, perhaps to a yes of a person, and told and
// written down; what comes in is bounded.
//
// The asking itself (of git, gh, gpg and the ssh agent outside) is package keys'; no key
// leaves them. [Config] says what the workspace is like, of which this package knows nothing.
package credentials
