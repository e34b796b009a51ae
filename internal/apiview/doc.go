// Package apiview shows values of package api to a person: workspaces and what runs in
// them, and the records of their logs: denials, links, connections, approvals, events and
// the audit log. Programs get the same values as JSON, as they are.
//
// Every byte of what a value holds is escaped, and each row stays on its line: most of it
// was chosen by a program inside. The package asks and decides nothing.
package apiview
